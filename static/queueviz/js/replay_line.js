/* The line of a replay: a slider over event numbers. The same interface as the player's Timeline. */
import { el } from "./dom.js";

const PAGE = 100;

export class ReplayLine {
  /** Keys that work anywhere on the page. @type {Record<string, () => void>} */
  keys = {};

  constructor(root, { facts, first, last, onChange }) {
    this.facts = facts;
    this.input = el("input", { type: "range", min: first, max: last, step: 1 });
    root.replaceChildren(this.input);
    this.input.addEventListener("input", () => onChange(this.seq, { dragging: true }));
    this.input.addEventListener("change", () => onChange(this.seq, { dragging: false }));
    const to = (seq) => seq !== undefined && onChange(Math.max(this.first, Math.min(last, seq)), { dragging: false });
    const before = (fits) => this.facts.findLast((fact) => fact.seq < this.seq && fits(fact))?.seq;
    const after = (fits) => this.facts.find((fact) => fact.seq > this.seq && fits(fact))?.seq;
    const any = () => true, act = ({ type }) => type === "ActionTaken";
    Object.assign(this.keys, {
      ",": () => to(before(any)), ".": () => to(after(any)), "[": () => to(before(act)), "]": () => to(after(act)),
      PageUp: () => to(this.seq - PAGE), PageDown: () => to(this.seq + PAGE), Home: () => to(this.first), End: () => to(last),
    });
  }

  get first() {
    return Number(this.input.min);
  }

  /** The journal's first event, once that is known. */
  begin(first) {
    this.input.min = String(first);
  }

  get seq() {
    return Number(this.input.value);
  }

  set(seq, said) {
    this.input.value = String(seq);
    if (said) this.input.setAttribute("aria-valuetext", said);
  }
}
