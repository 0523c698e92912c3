/* The lanes of a Board, whose members can come and leave: with the ghosts of a rebalance that is only thought of. */
import { attr, svg, text } from "./dom.js";
import { Lanes, target } from "./lanes.js";
import { inOrder } from "./names.js";

export class BoardLanes extends Lanes {
  /** @type {SVGGElement | null} */
  #ghost = null;
  /** @type {SVGTextElement | null} */
  #note = null;

  layout() {
    this.clearForecast(); // it was drawn between the places before
    super.layout();
  }

  /** `plan.after` maps members to their rows. */
  forecast(plan, caption) {
    this.clearForecast();
    if (!plan || !this.size || getComputedStyle(this.root).display === "none") return;
    const ghost = (this.#ghost = svg("g"));
    const add = this.board.querySelector("#add")?.getBoundingClientRect(), board = this.board.getBoundingClientRect();
    for (const [id, keys] of Object.entries(plan.after)) {
      const known = this.ports.cards.has(id);
      if (!known && add) this.ports.cards.set(id, { y: add.top - board.top, h: add.height, left: add.left - board.left });
      inOrder(keys).forEach((key, i) => {
        const curve = this.curve(key, id, (i + 1) / (keys.length + 1));
        const moved = (target(this.data.queues[key] ?? {}) ?? null) !== id;
        if (curve) ghost.append(svg("path", { class: `lane forecast ${moved ? "moved" : ""}`, d: curve.d }));
      });
      if (!known) this.ports.cards.delete(id);
    }
    this.root.append(ghost);
    if (!this.#note) this.root.append((this.#note = svg("text", { class: "lane-note", y: 18 })));
    attr(this.#note, "x", (this.size.w - 262 - 46).toFixed(0));
    attr(this.#note, "visibility", null);
    text(this.#note, caption);
  }

  clearForecast() {
    this.#ghost?.remove();
    this.#ghost = null;
    if (this.#note) attr(this.#note, "visibility", "hidden");
  }
}
