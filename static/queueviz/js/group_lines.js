/* One group of the Groups page: the text and the sort key of each cell. Twin of queueviz/boards/groups.py. */
import { knownText } from "./down_brokers.js";
import { duration, number, rate } from "./format.js";
import { differText, groupWords } from "./member_words.js";
import { t, valueWord } from "./words.js";

export const AGE_LIMIT_MS = 15000;
const WORST_FIRST = ["behind", "nobody", "retrying", "differs", "mixed", "unknown", "ok_partly", "quiet_partly", "ok", "quiet"];

/** @returns {number | null} */
export const ageOf = (row, now) => {
  const known = row.oldest_since_ms ?? row.oldest_after_ms;
  return known === null ? null : Math.max(0, now - known);
};

export function oldest(row, now) {
  const age = ageOf(row, now);
  if (age === null) return row.lag === "0" && row.queues_known === row.queues_all ? t("group.none") : duration(null);
  return row.oldest_since_ms ? duration(age) : `≤\u2009${duration(age)}`;
}

const LOOKS = { error: "behind", warning: "retrying" }; // the colours of a finding are those of a state
const rankOf = (row) => (row.finding ? Object.keys(LOOKS).indexOf(row.finding.severity) : 2);

/** The state whose colour and sign a row has. */
export const lookOf = (row) => (row.finding ? LOOKS[row.finding.severity] : row.state);

const stateWord = (row) => (row.finding ? valueWord(row.finding.code) : t(`group.${row.state}`, { n: number(row.queues_known), all: number(row.queues_all) }));

/** The texts of a row, by the name of the cell. */
export function cells(row, now) {
  return {
    word: stateWord(row), topics: row.topics.join(", "),
    differ: differText(row), words: groupWords(row.member_words ?? [], row.members_differ ?? []),
    lag: number(row.lag), partly: knownText(row), retrying: number(row.retrying),
    oldest: oldest(row, now), members: number(row.members), consumed: rate(row.consumed_per_s), delivered: rate(row.delivered_per_s),
    more: row.differs ? t("group.more", { n: rate(row.delivered_per_s - row.consumed_per_s) }) : "",
  };
}

export const isLate = (row, now) => Boolean(row.oldest_since_ms) && (ageOf(row, now) ?? 0) > AGE_LIMIT_MS;

const num = (value) => Number(value ?? -1);
const largest = (field) => ([, a], [, b]) => num(b[field]) - num(a[field]);
/** @param {[string, any]} one @param {[string, any]} other */
const byName = ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0);
const earliest = ([, a], [, b]) => (a.oldest_since_ms ?? a.oldest_after_ms ?? Infinity) - (b.oldest_since_ms ?? b.oldest_after_ms ?? Infinity) || 0;
const ORDERS = {
  worst: ([, a], [, b]) => rankOf(a) - rankOf(b) || WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state) || num(b.lag) - num(a.lag),
  name: byName, lag: largest("lag"), retrying: largest("retrying"), oldest: earliest, members: ([, a], [, b]) => num(a.members) - num(b.members),
  consumed: largest("consumed_per_s"), delivered: largest("delivered_per_s"),
};

/** Names in the order of a column; of equals by name. */
export const inOrderOf = (groups, column) => Object.entries(groups).sort((a, b) => ORDERS[column](a, b) || byName(a, b)).map(([name]) => name);

export const matches = (name, row, wanted) => [name, ...row.topics].some((word) => word.toLowerCase().includes(wanted));
