/* Live rows: [data-row] shows one object of the channel, [data-list] one row per key from a template; [data-f] is a
   field of the row and [data-as] how it is written. queueviz/boards/live_fields.py writes the same for the first paint. */
import { $, $$, hide, text } from "./dom.js";
import { bytes, clock as clockText, duration, number, remaining, UNKNOWN } from "./format.js";
import { shortId } from "./names.js";
import { t, valueWord } from "./words.js";

const collator = new Intl.Collator("en", { numeric: true });
const TIMED = new Set(["left", "ago"]);

export class Fields {
  #timed = [];

  /** `names`: client id → label; `orders`: section → keys in the order they are shown. */
  constructor(root, clock, { names = {}, orders = {} } = {}) {
    this.root = root;
    this.clock = clock;
    this.names = names;
    this.orders = orders;
  }

  paint(data) {
    this.data = data;
    this.began = data.client?.began_ms ?? 0;
    for (const list of $$("[data-list]", this.root)) this.#list(list, at(data, list.dataset.list));
    for (const box of $$("[data-row]", this.root)) this.#row(box, at(data, box.dataset.row));
    this.#timed = $$("[data-as=left], [data-as=ago]", this.root).filter((cell) => cell._row);
  }

  /** What only time changes. */
  tick() {
    const now = this.clock.now();
    for (const cell of this.#timed) text(cell, this.#shown(cell._row, cell, now));
  }

  #list(list, rows) {
    list._rows ??= new Map($$(":scope > [data-key]", list).map((row) => [row.dataset.key, row]));
    const wanted = this.#keys(list, rows ?? {});
    for (const [key, row] of list._rows) if (!(key in (rows ?? {}))) (row.remove(), list._rows.delete(key));
    let before = null;
    for (const key of wanted) {
      let row = list._rows.get(key);
      if (!row) {
        row = $(`#${list.dataset.template}`).content.firstElementChild.cloneNode(true);
        row.dataset.key = key;
        list._rows.set(key, row);
        for (const link of $$("[data-href]", row)) link.href = link.dataset.href + encodeURIComponent(key);
        for (const cell of $$("[data-key-text]", row)) text(cell, cell.dataset.as ? t(cell.dataset.as + key) : key);
      }
      const place = before ? before.nextElementSibling : list.firstElementChild;
      if (place !== row) list.insertBefore(row, place);
      this.#row(row, isObject(rows[key]) ? rows[key] : { value: rows[key] });
      before = row;
    }
  }

  #keys(list, rows) {
    const order = this.orders[list.dataset.order], keys = Object.keys(rows);
    if (order) return order.filter((key) => key in rows);
    keys.sort(collator.compare);
    return "desc" in list.dataset ? keys.reverse() : keys;
  }

  #row(box, row) {
    const now = this.clock.now();
    for (const cell of $$("[data-f]", box)) {
      if (cell.closest("[data-key], [data-row]") !== box) continue;
      cell._row = row ?? {};
      text(cell, this.#shown(cell._row, cell, now));
    }
  }

  #shown(row, cell, now) {
    const { f: name, as: kind } = cell.dataset, value = row[name];
    if (kind === "wait" || kind === "mark") return value ? this.#sentence(row, `${kind}.${value}`) : UNKNOWN;
    if (kind === "body" && !value && row.stored_body_bytes !== undefined) return t(value === "" ? "body.empty" : "body.binary", { size: bytes(row.stored_body_bytes) });
    if (value === null || value === undefined || value === "") return UNKNOWN;
    if (TIMED.has(kind)) return kind === "left" ? left(value - now) : ago(now - value);
    if (kind in SIMPLE) return SIMPLE[kind](value);
    if (kind === "after") return `+${step_ms(value - this.began)}`;
    if (kind === "took") return step_ms(value);
    if (kind === "runs") return runs(value, row[`${name}_more`]);
    if (kind === "list") return value.join(", ") || UNKNOWN;
    if (kind === "yes") return t(value ? "yes" : "no");
    return kind.endsWith(".") ? t(kind + value) : String(value);
  }

  #sentence(row, key) {
    const values = { ...row };
    if (row.queue) values.queue = queue(row.queue);
    if (row.holder) values.holder = this.names[row.holder] ?? shortId(row.holder);
    if (row.holder_state) values.state = valueWord(row.holder_state);
    if (row.reason) values.reason = valueWord(row.reason);
    if (row.trigger) values.trigger = t(`trigger.${row.trigger}`);
    if (row.trace?.length) values.trace = row.trace.map((code) => t(`trace.${code}`)).join(", ");
    if (row.offset) values.offset = number(row.offset);
    if (row.left_ms !== undefined && row.left_ms !== null) values.left = duration(row.left_ms);
    return t(key, values);
  }
}

const at = (data, path) => path.split(".").reduce((value, name) => value?.[name], data);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const SIMPLE = { number, bytes, ms: duration, clock: (ms) => clockText(ms), second: (ms) => clockText(ms, 0, { millis: false }) };

/** Whole seconds until then, as a countdown. */
export const left = (ms) => (ms <= 0 ? t("time.now_due") : ms >= 1000 ? remaining(ms) : duration(ms));
export const ago = (ms) => duration(ms < 1000 ? Math.max(0, ms) : Math.floor(ms / 1000) * 1000);
export const step_ms = (ms) => (ms === 0 ? "< 1 ms" : ms < 1000 ? `${ms} ms` : duration(ms));

export function runs(found, more = 0) {
  const said = found.map(([first, last]) => (first === last ? number(first) : `${number(first)}–${number(last)}`)).join(", ") || UNKNOWN;
  return more ? `${said} ${t("queue.and_more", { n: more })}` : said;
}

export function queue(key) {
  const [topic, broker, id] = key.split("/");
  return `${topic} q${id} ${broker}`;
}

/** Show the sentence for an empty list instead of the list. */
export function emptyOr(list, sentence, is_empty) {
  const [box, said] = [$(list), $(sentence)];
  if (box) hide(box, is_empty);
  if (said) hide(said, !is_empty);
}
