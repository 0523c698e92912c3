/* Above 64 queues: a cell per queue, coloured by its lag, and strips for the twelve worst only. Loaded when needed. */
import { attr, cls, el, text } from "./dom.js";
import { brief, number } from "./format.js";
import { inOrder } from "./names.js";
import { lagOf } from "./offsets.js";
import { t } from "./words.js";

const EXPANDED = 12, CALM_MS = 5000, LEVELS = [1, 10, 100, 1000]; // a level more from each of these lags on

/** Keys of the twelve queues furthest behind; where the lag is not known, last. */
export function furthestBehind(queues) {
  const weight = (key) => lagOf(queues[key]) ?? -1;
  return inOrder(Object.keys(queues)).sort((a, b) => weight(b) - weight(a)).slice(0, EXPANDED);
}

export class HeatMap {
  #cells = new Map();
  #worst = [];
  #chosen_at = -Infinity;

  constructor(box, { select }) {
    this.root = el("div", { class: "heat", role: "cell", "aria-label": t("heat.name") });
    this.root.addEventListener("click", ({ target }) => target instanceof HTMLElement && target.dataset.queue && select(target.dataset.queue));
    box.before(el("div", { role: "row" }, this.root));
  }

  /** The queues whose strips are shown: the worst ones, chosen again every 5 s, and the selected one. */
  pick(queues, selected, now) {
    if (now - this.#chosen_at >= CALM_MS || !this.#worst.every((key) => key in queues)) {
      this.#chosen_at = now;
      this.#worst = furthestBehind(queues);
    }
    const shown = new Set(this.#worst);
    if (selected in queues) shown.add(selected);
    return Object.fromEntries(inOrder(shown).map((key) => [key, queues[key]]));
  }

  paint(queues, shown, shorts, selected) {
    if (this.#cells.size !== Object.keys(queues).length) this.#build(queues);
    for (const [key, cell] of this.#cells) {
      const row = queues[key];
      if (!row) continue;
      const lag = lagOf(row);
      text(cell, lag === null ? "–" : brief(lag));
      attr(cell, "data-level", lag === null ? "none" : String(LEVELS.filter((from) => lag >= from).length));
      attr(cell, "aria-label", t("heat.cell", { queue: shorts.get(key), lag: number(lag) }));
      attr(cell, "title", shorts.get(key));
      attr(cell, "aria-pressed", String(key === selected));
      cls(cell, "open", key in shown);
    }
  }

  #build(queues) {
    this.#cells = new Map(inOrder(Object.keys(queues)).map((key) => [key, el("button", { type: "button", "data-queue": key })]));
    this.root.replaceChildren(...this.#cells.values());
  }
}
