/* The newest facts as sentences: a short list on the Board, a long one on its own page. */
import { el } from "./dom.js";
import { clock, number } from "./format.js";
import { factText, sentence, t } from "./words.js";

const RUNS_LINKED = 8;

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
    if (row.messages) cells[2].append(" ", ...this.#places(row));
    if (this.stamp) cells.splice(1, 0, el("time", { class: "num muted" }, clock(Number(row.at_ms))));
    if (this.stamp) cells.push(row.cause ? el("a", { class: "num", href: `#e${row.cause}` }, `← #${number(row.cause)}`) : el("span"));
    if (this.more) cells.push(this.more(row));
    return el("li", this.stamp ? { id: `e${row.seq}` } : {}, ...cells);
  }

  /** Links to the messages a fact is about, run by run, and to what brought it about. */
  #places({ messages, cause }) {
    const root = location.pathname.split("/", 3).join("/");
    const runs = messages.flatMap(([key, found]) => found.map(([first, last]) => [...key.split("/"), first, last]));
    const links = runs.slice(0, RUNS_LINKED).map(([topic, broker, id, first, last]) => {
      const place = new URLSearchParams({ "s-by": "place", "s-topic": topic, "s-queue": `${broker}:${id}`, "s-offset": first });
      const name = `${this.queue(`${broker}:${id}`)} ${first === last ? number(first) : `${number(first)} – ${number(last)}`}`;
      return el("a", { class: "num", href: `${root}/messages/?${place}` }, topic.startsWith("%") ? `${topic} ${name}` : name);
    });
    if (runs.length > RUNS_LINKED) links.push("…");
    if (cause) links.push(el("a", { href: `${root}/journal/?at=${cause}` }, t("journal.why")));
    return links.flatMap((link, i) => (i ? [" · ", link] : [link]));
  }
}

export const isQuiet = (row) => factText(row).quiet || (row.type === "QueueLocked" && row.how === "renewed") || (row.type === "QueuesAssigned" && (row.topic.startsWith("%RETRY%") || !(row.added?.length || row.dropped?.length)));
const tone = (row, known) => (row.type === "MemberStateChanged" && row.state === "running" ? "ok" : known.tone);
