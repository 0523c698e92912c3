/* Positions of a timeline's marks. The unit is the event number, not the second. Pure, for tests/drawings. */
import { GRAVEST } from "./marks.js";

export const APART_PX = 30; // closer marks become one with a count

export const xOf = (seq, first, last, width) => (last > first ? ((seq - first) / (last - first)) * width : 0);
export const seqAt = (x, first, last, width) => Math.max(first, Math.min(last, Math.round(first + (width > 0 ? x / width : 0) * (last - first))));

/** Groups of one lane, from left to right: `{x, mark, facts}`; `mark` is the gravest of them. */
export function grouped(facts, first, last, width, apart = APART_PX) {
  /** @type {{ x: number, from: number, mark: string, facts: any[] }[]} */
  const groups = [];
  for (const fact of facts) {
    const x = xOf(fact.seq, first, last, width), group = groups.at(-1);
    if (group && x - group.from < apart) {
      group.facts.push(fact);
      if (GRAVEST.indexOf(fact.mark) < GRAVEST.indexOf(group.mark)) group.mark = fact.mark;
    } else groups.push({ x, from: x, mark: fact.mark, facts: [fact] });
  }
  return groups;
}

/** The nearest of rising numbers below (`by` -1) or above (1) one; null: there is none. */
export function nearest(seqs, seq, by) {
  const found = by < 0 ? seqs.findLast((one) => one < seq) : seqs.find((one) => one > seq);
  return found ?? null;
}
