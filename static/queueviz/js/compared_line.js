/* The line of two runs: one until the action, then one above the other; their facts stand on it, and a slider under it
   moves both. The unit is the time since the action. */
import { el, svg } from "./dom.js";
import { markOf, sign } from "./marks.js";
import { grouped, nearest, xOf } from "./timeline_plan.js";
import { t } from "./words.js";

const LANES = [14, 42], HEIGHT = 56, MIDDLE = 28, PARTS_PX = 14, INSET = 8; // half of the slider's thumb
const RUNS = ["before", "after"];

export class ComparedLine {
  /** Of both runs, by their time, without those before the action twice. @type {{ ms: number, run: number | null, mark: string }[]} */
  facts = [];
  width = 0;

  /** @param {HTMLElement} element @param {{ from: number, to: number, step: number, onChange: (ms: number) => void }} o ms since the action */
  constructor(element, { from, to, step, onChange }) {
    this.from = from;
    this.to = to;
    this.root = svg("svg", { height: HEIGHT, "aria-hidden": "true" });
    this.head = svg("path", { class: "head", d: `M0 2V${HEIGHT - 2}` });
    this.slider = el("input", { type: "range", min: String(from), max: String(to), step: String(step), "aria-label": t("compare.line") });
    element.replaceChildren(this.root, this.slider);
    this.slider.addEventListener("input", () => {
      this.#place();
      onChange(this.ms);
    });
    new ResizeObserver(() => this.paint()).observe(element);
  }

  get ms() {
    return Number(this.slider.value);
  }

  /** @param {any[][]} runs rows of each, with `ms` since the action */
  show(runs) {
    this.facts = runs.flatMap((rows, run) => rows.filter(({ ms }) => ms >= 0 || run === 0).map((row) => ({ ...row, run: row.ms < 0 ? null : run, mark: markOf(row) })));
    this.facts.sort((a, b) => a.ms - b.ms);
    this.paint();
  }

  set(ms) {
    this.slider.value = String(ms);
    this.#place();
  }

  /** The next moment with a fact that has a sign, before (-1) or after (1) this one. */
  step(by) {
    const step = Number(this.slider.step), places = this.facts.filter(({ mark }) => mark).map(({ ms }) => Math.ceil(ms / step) * step);
    return nearest(places, this.ms, by) ?? (by < 0 ? this.from : this.to);
  }

  paint() {
    this.width = this.root.clientWidth;
    if (!this.width) return;
    const x = (ms) => this.#x(ms), parts = x(0), end = x(this.to);
    /** @type {SVGElement[]} */
    const nodes = [svg("path", { class: "both", d: `M${x(this.from)} ${MIDDLE}H${parts}` })];
    LANES.forEach((y, run) => {
      nodes.push(svg("path", { class: RUNS[run], d: `M${parts} ${MIDDLE}C${parts + PARTS_PX / 2} ${MIDDLE} ${parts + PARTS_PX / 2} ${y} ${parts + PARTS_PX} ${y}H${end}` }));
    });
    for (const run of [null, 0, 1]) {
      const facts = this.facts.filter((fact) => fact.run === run && fact.mark).map((fact) => ({ seq: fact.ms, mark: fact.mark }));
      for (const { x: at, mark } of grouped(facts, this.from, this.to, this.width - 2 * INSET, 12)) nodes.push(sign(mark, at + INSET, run === null ? MIDDLE : LANES[run]));
    }
    this.root.replaceChildren(...nodes, this.head);
    this.#place();
  }

  #x(ms) {
    return INSET + xOf(ms, this.from, this.to, this.width - 2 * INSET);
  }

  #place() {
    if (this.width) this.head.setAttribute("transform", `translate(${this.#x(this.ms).toFixed(1)} 0)`);
    this.slider.setAttribute("aria-valuetext", sinceText(this.ms));
  }
}

/** `+24.0 s`, with a true minus sign. */
export function sinceText(ms) {
  return t("compare.since", { s: `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 1000).toFixed(1)}` });
}
