/* The newest facts as sentences.  Live rows and rows loaded later may overlap: numbers identify them. */
import { el } from "./dom.js";
import { number } from "./format.js";
import { factText, pagesRoot, sentence, t } from "./words.js";

const RUNS_LINKED = 8;

export class JournalList {
  rows = []; // oldest first
  /** @type {string | null} */
  empty = null; // what to say when there are none

  /** `keep` rows; `who` and `queue` turn a client id and a row's place into their short names. */
  constructor(root, { keep, who, queue }) {
    this.root = root;
    this.keep = keep;
    this.who = who;
    this.queue = queue;
  }

  /** Returns how many are new. */
  add(rows) {
    const known = new Set(this.rows.map((row) => row.seq)), fresh = rows.filter((row) => !known.has(row.seq));
    this.rows = this.kept([...this.rows, ...fresh].sort((a, b) => a.seq - b.seq));
    this.paint();
    return fresh.length;
  }

  kept(rows) {
    return rows.slice(-this.keep);
  }

  /** A line where the connection was lost: so many events were loaded afterwards. */
  gap(count, seq) {
    if (count) this.add([{ gap: count, seq: `${seq - 0.5}` }]);
  }

  paint() {
    this.root?.replaceChildren(...(this.rows.length || !this.empty ? this.rows.map((row) => this.line(row)).reverse() : [el("li", { class: "gap" }, this.empty)]));
  }

  line(row) {
    if (row.gap) return el("li", { class: "gap" }, t("journal.gap", { n: number(row.gap) }));
    const known = factText(row), line = sentence(row, this.who, this.queue);
    const said = el("span", { class: "txt", title: line }, line);
    if (Array.isArray(row.messages)) said.append(" ", ...this.#places(row)); // elsewhere a number
    return el("li", {}, el("span", { class: "seq num" }, number(row.seq).replace("#", "")), el("span", { class: `k k-${tone(row, known)}`, title: row.type }, known.word), said);
  }

  /** Links to the messages of a fact, run by run, and to its cause. */
  #places({ messages, cause }) {
    const runs = messages.flatMap(([key, found]) => found.map(([first, last]) => [...key.split("/"), first, last]));
    const links = runs.slice(0, RUNS_LINKED).map(([topic, broker, id, first, last]) => {
      const place = new URLSearchParams({ "s-by": "place", "s-topic": topic, "s-queue": `${broker}:${id}`, "s-offset": first });
      const name = `${this.queue(`${broker}:${id}`)} ${first === last ? number(first) : `${number(first)} – ${number(last)}`}`;
      return el("a", { class: "num", href: `${pagesRoot}messages/?${place}` }, topic.startsWith("%") ? `${topic} ${name}` : name);
    });
    if (runs.length > RUNS_LINKED) links.push("…");
    if (cause) links.push(el("a", { href: `${pagesRoot}journal/?at=${cause}` }, t("journal.why")));
    return links.flatMap((link, i) => (i ? [" · ", link] : [link]));
  }
}

/** Same as `is_step` in `sandbox/journal/event_filter.py`: steps of an operation that another fact reports. */
export const isStep = (row) => Boolean(factText(row).quiet || (row.type === "QueueLocked" && row.how === "renewed") || (row.type === "QueuesAssigned" && (row.topic.startsWith("%RETRY%") || !(row.added?.length || row.dropped?.length))));
const tone = (row, known) => (row.type === "MemberStateChanged" && row.state === "running" ? "ok" : known.tone);
