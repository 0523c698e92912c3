/* Changes on the board between two events, as a table. */
import { el } from "./dom.js";
import { change, number, UNKNOWN } from "./format.js";
import { inOrder, shortNames } from "./names.js";
import { gap, offset } from "./offsets.js";
import { t } from "./words.js";

const MOST = 12;
const OFFSETS = ["committed", "max", "min"];

/** [{name, before, now, by}]: `by` is null where there is no difference to count. What is only the keyframe's is unknown. */
export function changesOf(before, now, who) {
  const known = (board, row, field) => (board.grey.includes(field) ? null : (row[field] ?? null));
  const keys = inOrder(new Set([...Object.keys(before.queues), ...Object.keys(now.queues)])), shorts = shortNames(keys), found = [];
  const add = (name, a, b, counted) => (a ?? null) !== (b ?? null) && found.push({ name, before: a ?? null, now: b ?? null, by: counted ? gap(offset(a), offset(b)) : null });
  for (const key of keys) {
    const a = before.queues[key] ?? {}, b = now.queues[key] ?? {}, queue = shorts.get(key);
    for (const field of OFFSETS) add(t(`replay.${field}`, { queue }), known(before, a, field), known(now, b, field), true);
    const [had, has] = [known(before, a, "owner"), known(now, b, "owner")];
    add(t("replay.owner", { queue }), had && who(had), has && who(has), false);
  }
  const lag = ({ header, grey }) => (grey.includes("committed") || grey.includes("max") ? null : header.lag);
  add(t("replay.lag"), lag(before), lag(now), true);
  return found;
}

/** The rows of the table, and the sentence below it. */
export function listed(changes) {
  const cell = (value) => el("td", {}, value === null ? UNKNOWN : /^\d+$/.test(value) ? number(value) : value);
  const rows = changes.slice(0, MOST).map(({ name, before, now, by }) => el("tr", {}, el("th", { scope: "row" }, name), cell(before), cell(now), el("td", {}, by === null ? "" : change(by))));
  return { rows, said: changes.length > MOST ? t("replay.more", { n: changes.length - MOST }) : changes.length ? "" : t("replay.same") };
}
