/* Changes between two marked events of the journal: the server's list as a table, and its gaps. */
import { $, attr, el, hide, text } from "./dom.js";
import { number, UNKNOWN } from "./format.js";
import { t } from "./words.js";

const MOST_ROWS = 500;

export class Diff {
  /** @type {HTMLInputElement[]} */
  #marked = []; // two at most, the one marked first in front
  #asked = 0;

  /** @param {HTMLElement} panel @param {string} api */
  constructor(panel, api) {
    this.panel = panel;
    this.api = api;
    $("[data-clear]", panel).addEventListener("click", () => {
      const [first] = this.#marked;
      for (const box of this.#marked) box.checked = false;
      this.#marked = [];
      hide(panel, true);
      first?.focus();
    });
  }

  /** The box that marks an event. */
  box({ seq }) {
    const box = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox", value: seq, "aria-label": t("journal.diff_mark", { seq: number(seq) }) }));
    box.addEventListener("change", () => this.#mark(box));
    return el("label", { class: "diffbox" }, box, t("journal.diff"));
  }

  async #mark(box) {
    this.#marked = this.#marked.filter((one) => one !== box);
    if (box.checked) this.#marked.push(box);
    if (this.#marked.length > 2) /** @type {HTMLInputElement} */ (this.#marked.shift()).checked = false;
    const asked = ++this.#asked, seqs = this.#marked.map(({ value }) => Number(value)).sort((a, b) => a - b);
    hide(this.panel, !seqs.length);
    this.#show([], seqs.length === 1 ? t("journal.diff_one", { seq: number(seqs[0]) }) : "");
    if (seqs.length < 2) return;
    const answer = await fetch(`${this.api}/changes?from=${seqs[0]}&to=${seqs[1]}`).catch(() => null), found = await answer?.json().catch(() => null);
    if (asked !== this.#asked) return;
    if (!answer?.ok || !found) this.#show([], found?.error ?? t("journal.diff_failed"));
    else this.#show(found.rows, this.#known(found), t("journal.diff_title", { from: number(found.from), to: number(found.to) }));
  }

  /** The gaps of the list: between keyframes, only values of events are known. */
  #known({ rows, keyframes: [before, after] }) {
    const open = before === after ? t("journal.diff_same", { seq: number(before) }) : t("journal.diff_between", { from: number(before), to: number(after) });
    const count = rows.length > MOST_ROWS ? t("journal.diff_more", { n: number(MOST_ROWS), all: number(rows.length) }) : rows.length ? "" : t("journal.diff_none");
    return [count, open].filter(Boolean).join(" ");
  }

  #show(rows, said, title = t("journal.diff_head")) {
    text($("h2", this.panel), title);
    text($("[data-said]", this.panel), said);
    hide($("table", this.panel), !rows.length);
    $("tbody", this.panel).replaceChildren(...rows.slice(0, MOST_ROWS).map((row) => line(row)));
  }
}

/** @param {{ place: string, field: string | null, before: any, after: any, exact: boolean }} row */
function line({ place, field, before, after, exact }) {
  const node = el("tr", { class: exact ? null : "asof" });
  node.append(
    el("th", { scope: "row", class: "mono" }, place || UNKNOWN),
    el("td", { class: "mono" }, field ?? ""),
    el("td", { class: "num" }, value(before)),
    el("td", { class: "num" }, value(after)),
    el("td", { class: "small" }, exact ? "" : t("journal.diff_old")),
  );
  if (field === null) attr(node, "data-row", before === null ? "came" : "went");
  return node;
}

const value = (given) => (given === null ? UNKNOWN : typeof given === "object" ? JSON.stringify(given) : String(given));
