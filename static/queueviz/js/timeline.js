/* A slider over events: actions above, the rest below; solid where it can be executed again. */
import { attr, el, svg, text } from "./dom.js";
import { clock, number } from "./format.js";
import { markOf, sign } from "./marks.js";
import { grouped, nearest, seqAt, xOf } from "./timeline_plan.js";
import { sentence, t } from "./words.js";

const LANES = { upper: 12, lower: 34, track: 54 }, HEIGHT = 72;

export class Timeline {
  seq = 0;
  width = 0;
  /** @type {any[]} */
  facts = [];
  /** @type {any[]} */
  marks = [];
  /** @type {any} */
  notes = null;
  past = svg("rect", { class: "past", y: LANES.track - 4, height: 8, rx: 2 });

  /**
   * @param {HTMLElement} element
   * @param {{ facts: any[], first: number, last: number, stretches?: { from: number, to: number, reproducible: boolean, why: string | null }[],
   *   onChange: (seq: number, how: { dragging: boolean }) => void, onPlay?: () => void, who?: (id: any) => string }} o facts in their order, seq as number or text
   */
  constructor(element, { facts, first, last, stretches = [], onChange, onPlay = () => {}, who = String }) {
    this.first = this.seq = first;
    this.last = last;
    this.stretches = stretches;
    this.onChange = onChange;
    this.onPlay = onPlay;
    this.who = who;
    this.slider = el("div", { class: "timeline", role: "slider", tabindex: "0", "aria-label": t("timeline.label") });
    this.root = svg("svg", { height: HEIGHT, "aria-hidden": "true" });
    this.head = svg("g", { class: "playhead" });
    this.head.append(svg("path", { d: `M0 4V${LANES.track + 8}` }), svg("circle", { cy: LANES.track, r: 6.5 }));
    this.slider.append(this.root);
    element.replaceChildren(this.slider);
    this.extend(facts, last);
    new ResizeObserver(() => this.paint()).observe(this.slider);
    this.slider.addEventListener("pointerdown", (event) => this.#grab(event));
    this.slider.addEventListener("keydown", (event) => {
      if (!this.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Later facts. */
  extend(facts, last) {
    const known = facts.map((fact) => ({ ...fact, seq: Number(fact.seq), at_ms: Number(fact.at_ms), mark: markOf(fact) }));
    this.facts = this.facts.concat(known);
    this.marks = this.facts.filter((fact) => fact.mark);
    this.last = last;
    this.paint();
  }

  set(seq) {
    this.seq = Math.max(this.first, Math.min(this.last, seq));
    this.#place();
  }

  /** True: the key was ours. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 100, PageDown: -100 };
    const stops = this.notes?.all ?? this.marks;
    const near = { ",": [this.facts, -1], ".": [this.facts, 1], "[": [stops, -1], "]": [stops, 1] }[event.key];
    if (event.key === " ") this.onPlay();
    else if (event.key in steps) this.#go(this.seq + steps[event.key]);
    else if (event.key === "Home") this.#go(this.first);
    else if (event.key === "End") this.#go(this.last);
    else if (near) this.#go(nearest(near[0].map((fact) => fact.seq), this.seq, near[1]) ?? this.seq);
    else return false;
    return true;
  }

  /** The newest fact at or before the event; null: there is none. */
  factAt(seq) {
    return this.facts.findLast((fact) => fact.seq <= seq) ?? null;
  }

  #go(seq, dragging = false) {
    this.set(seq);
    this.onChange(this.seq, { dragging });
  }

  #grab(event) {
    if (event.button !== 0) return;
    const box = this.root.getBoundingClientRect();
    const at = (one) => seqAt(one.clientX - box.left, this.first, this.last, box.width);
    const mark = event.target.closest?.("[data-seq]");
    this.slider.setPointerCapture(event.pointerId);
    this.#go(mark ? Number(mark.dataset.seq) : at(event), !mark);
    const move = (moved) => this.#go(at(moved), true);
    const end = () => {
      for (const kind of ["pointerup", "pointercancel"]) this.slider.removeEventListener(kind, end);
      this.slider.removeEventListener("pointermove", move);
      this.onChange(this.seq, { dragging: false });
    };
    if (!mark) this.slider.addEventListener("pointermove", move);
    for (const kind of ["pointerup", "pointercancel"]) this.slider.addEventListener(kind, end);
  }

  paint() {
    const width = (this.width = this.slider.clientWidth);
    if (!width) return;
    const { first, last } = this, y = LANES.track - 4;
    /** @type {SVGElement[]} */
    const nodes = [svg("rect", { class: "whole", x: 0, y, width, height: 8, rx: 2 })];
    for (const stretch of this.stretches) {
      const from = xOf(Math.max(first, stretch.from), first, last, width), to = xOf(Math.min(last, stretch.to), first, last, width);
      if (to <= from || stretch.reproducible) continue;
      const part = svg("rect", { class: "apart", x: from, y, width: to - from, height: 8 });
      part.append(svg("title", {}, t("timeline.apart", { why: t(`stretch.${stretch.why ?? "unknown"}`) })));
      nodes.push(part);
    }
    nodes.push(this.past);
    const lanes = { upper: this.marks.filter(({ mark }) => mark === "act"), lower: this.marks.filter(({ mark }) => mark !== "act") };
    for (const [lane, marks] of Object.entries(lanes)) for (const group of grouped(marks, first, last, width)) nodes.push(this.#mark(group, LANES[lane]));
    if (this.notes) nodes.push(...this.notes.draw(this));
    this.root.replaceChildren(...nodes, this.head);
    this.#place();
  }

  #mark({ x, mark, facts }, y) {
    const at = Math.max(6, Math.min(this.width - 6, x));
    const node = svg("g", { class: "mark", transform: `translate(${at.toFixed(1)} ${y})`, "data-seq": facts[0].seq });
    if (facts.length > 1) node.append(svg("rect", { class: "pill", x: -9, y: -9, width: 31, height: 18, rx: 9 }));
    node.append(sign(mark), svg("title", {}, facts.slice(0, 5).map((fact) => `#${number(fact.seq)} ${this.say(fact)}`).join("\n")));
    if (facts.length > 1) node.append(svg("text", { x: 9, y: 3.5 }, facts.length));
    return node;
  }

  say(fact) {
    return sentence(fact, this.who);
  }

  #place() {
    if (!this.width) return;
    const x = xOf(this.seq, this.first, this.last, this.width), fact = this.factAt(this.seq);
    attr(this.head, "transform", `translate(${x.toFixed(1)} 0)`);
    attr(this.past, "width", x.toFixed(1));
    attr(this.slider, "aria-valuemin", String(this.first));
    attr(this.slider, "aria-valuemax", String(this.last));
    attr(this.slider, "aria-valuenow", String(this.seq));
    attr(this.slider, "aria-valuetext", fact ? `${number(this.seq)}, ${clock(fact.at_ms)}, ${this.say(fact)}` : number(this.seq));
  }
}

/** The number and the time of an event, as the pages write them. */
export function writeMoment(node, seq, at_ms) {
  text(node, `${clock(at_ms)} · ${t("timeline.event", { seq: number(seq) })}`);
}
