/* Marks of the newest facts on the transport bar. */
import { $, svg } from "./dom.js";
import { GRAVEST, markOf, sign } from "./marks.js";
import { t } from "./words.js";

const CLUSTER_PX = 6, KEEP = 400;

export class Scrubber {
  #facts = [];

  constructor() {
    this.root = $("#scrub");
    if (this.root) new ResizeObserver(() => this.paint()).observe(this.root);
  }

  add(rows) {
    if (!this.root) return;
    for (const row of rows) {
      const mark = markOf(row);
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
      if (!old || GRAVEST.indexOf(mark) < GRAVEST.indexOf(old)) places.set(slot, mark);
    }
    for (const [slot, mark] of places) nodes.push(sign(mark, Math.min(head, slot * CLUSTER_PX), 17));
    // no knob: nothing can be dragged here
    nodes.push(svg("path", { d: `M${head} 9v16`, stroke: "var(--text)", "stroke-width": 2 }), svg("text", { x: head, y: 6, "text-anchor": "middle", "font-size": 10, fill: "var(--text-3)" }, t("chart.now")));
    this.root.replaceChildren(...nodes);
  }
}
