/* A range of events on a timeline: a handle at each end, and between them the event it opens at. */
import { attr, el } from "./dom.js";
import { clock, number } from "./format.js";
import { Timeline } from "./timeline.js";
import { nearest, seqAt, xOf } from "./timeline_plan.js";
import { t } from "./words.js";

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
const within = (value, least, most) => Math.max(least, Math.min(most, value));

export class RangeLine {
  /**
   * @param {HTMLElement} element
   * @param {{ facts: any[], first: number, last: number, range: { first: number, last: number, at: number }, onChange: (range: { first: number, last: number, at: number }) => void }} o
   *   `first`, `last`: of the line; facts oldest first
   */
  constructor(element, { facts, first, last, range, onChange }) {
    const line = el("div");
    this.onChange = onChange;
    this.range = range;
    this.band = el("div", { class: "band" });
    this.first = this.#handle("first");
    this.last = this.#handle("last");
    element.replaceChildren(line, this.band, this.first, this.last);
    this.timeline = new Timeline(line, { facts, first, last, onChange: (seq) => this.#change({ at: seq }) });
    attr(this.timeline.slider, "aria-label", t("share.at"));
    new ResizeObserver(() => this.set(this.range)).observe(element);
    this.set(range);
  }

  /** Draw it; nothing is said of it. */
  set(range) {
    const { first, last, width } = this.timeline;
    this.range = range;
    this.timeline.set(range.at);
    const limits = { first: [first, range.last - 1], last: [range.first + 1, last] };
    for (const end of ["first", "last"]) {
      const handle = this[end], [least, most] = limits[end], fact = this.timeline.factAt(range[end]);
      handle.style.left = `${xOf(range[end], first, last, width)}px`;
      attr(handle, "aria-valuemin", String(least));
      attr(handle, "aria-valuemax", String(most));
      attr(handle, "aria-valuenow", String(range[end]));
      attr(handle, "aria-valuetext", fact ? `${number(range[end])}, ${clock(fact.at_ms)}, ${this.timeline.say(fact)}` : number(range[end]));
    }
    this.band.style.left = this.first.style.left;
    this.band.style.width = `${xOf(range.last, first, last, width) - xOf(range.first, first, last, width)}px`;
  }

  /** An end stops at the other one; the event it opens at stays between them. */
  #change(part) {
    const { first, last } = this.timeline, now = this.range;
    const begins = within(part.first ?? now.first, first, now.last - 1), ends = within(part.last ?? now.last, begins + 1, last);
    this.set({ first: begins, last: ends, at: within(part.at ?? now.at, begins, ends) });
    this.onChange(this.range);
  }

  #handle(end) {
    const handle = el("div", { class: `handle ${end}`, role: "slider", tabindex: "0", "aria-label": t(`share.${end}`) });
    handle.addEventListener("keydown", (event) => {
      const seq = this.#seqOf(event, this.range[end]);
      if (seq === null) return;
      event.preventDefault();
      this.#change({ [end]: seq });
    });
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      const move = (moved) => {
        const box = this.timeline.root.getBoundingClientRect();
        this.#change({ [end]: seqAt(moved.clientX - box.left, this.timeline.first, this.timeline.last, box.width) });
      };
      handle.addEventListener("pointermove", move);
      handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
    });
    return handle;
  }

  /** Where a key leads: arrows one event, Page keys one mark. */
  #seqOf({ key, ctrlKey, metaKey, altKey }, seq) {
    if (ctrlKey || metaKey || altKey) return null;
    if (key in STEPS) return seq + STEPS[key];
    const { first, last, marks } = this.timeline;
    const near = (by) => nearest(marks.map((mark) => mark.seq), seq, by) ?? seq;
    return { Home: first, End: last, PageUp: near(1), PageDown: near(-1) }[key] ?? null;
  }
}
