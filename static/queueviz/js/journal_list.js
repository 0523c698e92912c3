/* The newest facts as sentences: a short list on the Board, a long one on its own page. */
import { el } from "./dom.js";
import { clock, number } from "./format.js";
import { factText, sentence, t } from "./words.js";

export class JournalList {
  rows = [];

  constructor(root, { keep = 12, who, queue, quiet = false, stamp = false, more }) {
    Object.assign(this, { root, keep, who, queue, quiet, stamp, more });
    this.accept = () => true;
  }

  add(rows) {
    this.rows.push(...rows.filter((row) => this.quiet || !isQuiet(row)));
    if (this.rows.length > 2000) this.rows.splice(0, this.rows.length - 2000);
    this.paint();
  }

  /** A line where events were missed: loaded, but not shown one by one. */
  gap(count) {
    this.rows.push({ gap: count });
    this.paint();
  }

  paint() {
    if (!this.root) return;
    const shown = [];
    for (let i = this.rows.length - 1; i >= 0 && shown.length < this.keep; i--) if (this.rows[i].gap || this.accept(this.rows[i])) shown.push(this.rows[i]);
    this.root.replaceChildren(...(shown.length ? shown.map((row) => this.#line(row)) : [el("li", { class: "gap" }, t("journal.none"))]));
  }

  #line(row) {
    if (row.gap) return el("li", { class: "gap" }, t("journal.gap", { n: number(row.gap) }));
    const known = factText(row), line = sentence(row, this.who, this.queue);
    const cells = [el("span", { class: "seq num" }, number(row.seq).replace("#", "")), el("span", { class: `k k-${tone(row, known)}`, title: row.type }, known.word), el("span", { class: "txt", title: line }, line)];
    if (this.stamp) cells.splice(1, 0, el("time", { class: "num muted" }, clock(Number(row.at_ms))));
    if (this.stamp) cells.push(row.cause ? el("a", { class: "num", href: `#e${row.cause}` }, `← #${number(row.cause)}`) : el("span"));
    if (this.more) cells.push(this.more(row));
    return el("li", this.stamp ? { id: `e${row.seq}` } : {}, ...cells);
  }
}

export const isQuiet = (row) => factText(row).quiet || (row.type === "QueueLocked" && row.how === "renewed") || (row.type === "QueuesAssigned" && (row.topic.startsWith("%RETRY%") || !(row.added?.length || row.dropped?.length)));
const tone = (row, known) => (row.type === "MemberStateChanged" && row.state === "running" ? "ok" : known.tone);
