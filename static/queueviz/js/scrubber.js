/* Marks of the newest facts on the transport bar: circle rebalance, diamond lock, triangle warning, cross fault, flag action. */
import { $, svg } from "./dom.js";
import { factText, t } from "./words.js";

const CLUSTER_PX = 6, KEEP = 400;
const SHAPES = {
  move: (x) => svg("circle", { cx: x, cy: 17, r: 4.5, fill: "var(--accent)" }),
  lock: (x) => svg("rect", { x: x - 4, y: 13, width: 8, height: 8, rx: 1.5, fill: "var(--lock)", transform: `rotate(45 ${x} 17)` }),
  warn: (x) => svg("path", { d: `M${x} 11l5.5 10h-11z`, fill: "var(--warn-fill)" }),
  bad: (x) => svg("path", { d: `M${x - 4.5} 12.5l9 9m0 -9l-9 9`, stroke: "var(--bad-fill)", "stroke-width": 2.6, fill: "none" }),
  act: (x) => svg("path", { d: `M${x} 24v-13h7l-2 3l2 3h-7`, fill: "var(--surface)", stroke: "var(--text-2)", "stroke-width": 1.5 }),
};
const WEIGHT = ["bad", "warn", "lock", "move", "act"];

export class Scrubber {
  #facts = [];

  constructor() {
    this.root = $("#scrub");
    if (this.root) new ResizeObserver(() => this.paint()).observe(this.root);
  }

  add(rows) {
    if (!this.root) return;
    for (const row of rows) {
      const mark = row.type === "MemberStateChanged" && !["hung", "crashed", "refused"].includes(row.state) ? "" : row.type === "QueueLocked" && row.how === "renewed" ? "" : factText(row).mark;
      if (mark) this.#facts.push({ at: Number(row.at_ms), mark });
    }
    if (this.#facts.length > KEEP) this.#facts.splice(0, this.#facts.length - KEEP);
    this.paint();
  }

  /** Five minutes of the sandbox's clock; now is near the right end. */
  paint(now = this.now ?? 0) {
    this.now = now;
    const width = this.root?.clientWidth;
    if (!width) return;
    const head = width * 0.975, from = now - 300000;
    /** @type {SVGElement[]} */
    const nodes = [svg("rect", { x: 0, y: 15, width, height: 4, rx: 2, fill: "var(--z-done)" }), svg("rect", { x: 0, y: 15, width: head, height: 4, rx: 2, fill: "var(--accent)", opacity: 0.45 })];
    const places = new Map();
    for (const { at, mark } of this.#facts) {
      if (at < from) continue;
      const slot = Math.round(((at - from) / 300000) * head / CLUSTER_PX);
      const old = places.get(slot);
      if (!old || WEIGHT.indexOf(mark) < WEIGHT.indexOf(old)) places.set(slot, mark);
    }
    for (const [slot, mark] of places) nodes.push(SHAPES[mark](Math.min(head, slot * CLUSTER_PX)));
    // no knob: nothing can be dragged here
    nodes.push(svg("path", { d: `M${head} 9v16`, stroke: "var(--text)", "stroke-width": 2 }), svg("text", { x: head, y: 6, "text-anchor": "middle", "font-size": 10, fill: "var(--text-3)" }, t("chart.now")));
    this.root.replaceChildren(...nodes);
  }
}
