/* The students that a broadcast reaches: tiles chosen with Ctrl, Shift, Space or x, or lines of the table. None chosen: all. */
import { $, attr, hide, text } from "./dom.js";
import { t } from "./words.js";

export class Selection {
  #chosen = new Set();
  #last = ""; // where a range begins

  /** @param {() => void} changed after each change by the teacher */
  constructor(changed) {
    this.changed = changed;
    $("#unselect").addEventListener("click", () => this.clear());
  }

  /** @param {string} number */
  has(number) {
    return this.#chosen.has(number);
  }

  /** @returns {string[]} numbers of students; none: all */
  get numbers() {
    return [...this.#chosen];
  }

  toggle(number) {
    if (!this.#chosen.delete(number)) this.#chosen.add(number);
    this.#last = number;
    this.changed();
  }

  /** Add all from the last one to this one. @param {string} number @param {string[]} order */
  reach(number, order) {
    const ends = [order.indexOf(this.#last), order.indexOf(number)].sort((a, b) => a - b);
    if (ends[0] < 0) return this.toggle(number);
    for (const one of order.slice(ends[0], ends[1] + 1)) this.#chosen.add(one);
    this.#last = number;
    this.changed();
  }

  /** @returns {boolean} whether any was chosen */
  clear() {
    if (!this.#chosen.size) return false;
    this.#chosen.clear();
    this.#last = "";
    this.changed();
    return true;
  }

  /** Leave out students who left the course. @param {Record<string, any>} rows */
  paint(rows) {
    for (const number of this.#chosen) if (!rows[number]) this.#chosen.delete(number);
    hide($("#selection"), !this.#chosen.size);
    text($("#selected"), this.#chosen.size ? t("grid.selected", { n: this.#chosen.size }) : "");
    attr($("#broadcast"), "data-selects", this.#chosen.size ? "" : null);
  }
}
