/* A journal list that grows while the user pages back; visible rows do not move. */
import { el } from "./dom.js";
import { clock, number } from "./format.js";
import { JournalList } from "./journal_list.js";

const KEEP = 2000; // new rows to keep, unless the user loaded more; the oldest are removed

export class LongJournal extends JournalList {
  /** `more(row)`: the last cells of a line. */
  constructor(root, options) {
    super(root, { ...options, keep: KEEP });
    this.more = options.more;
  }

  /** With its time, its cause and an address of its own. */
  line(row) {
    const line = super.line(row);
    if (row.gap) return line;
    line.id = `e${row.seq}`;
    line.firstChild?.after(el("time", { class: "num muted" }, clock(Number(row.at_ms))));
    line.append(row.cause ? el("a", { class: "num", href: `#e${row.cause}` }, `← #${number(row.cause)}`) : el("span"), ...this.more(row));
    return line;
  }

  kept(rows) {
    return this.growing ? rows : rows.slice(-Math.max(this.keep, this.rows.length));
  }

  /** Rows that the user loaded. */
  grow(rows) {
    this.growing = true;
    this.add(rows);
    this.growing = false;
  }

  /** Forget what is older than this. */
  cut(seq) {
    this.rows = this.rows.filter((row) => row.seq >= Number(seq));
  }

  clear() {
    this.rows = [];
    this.paint();
  }

  paint() {
    let next = this.root.firstChild;
    for (const row of this.rows.toReversed()) {
      row.line ??= this.line(row);
      if (row.line === next) next = next.nextSibling;
      else this.root.insertBefore(row.line, next);
    }
    while (next) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  }
}
