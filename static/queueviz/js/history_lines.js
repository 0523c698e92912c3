/* Lines of the History page that the browser computes from the newest values of queues: as `history_lines.py` does for the past. */

import { calm, isSmall } from "./lag_lines.js";

export const TOTAL = "total", OTHERS = "others", WORST = 3;

const sum = (values) => values.reduce((all, value) => all + value, 0);
const largest = (values) => Math.max(...values);

/** The queues with a line of their own: those of the past, else the three with the highest value. @param {Map<string, any[]>} points */
export function worstOf(points, past) {
  const named = past.filter((name) => name !== TOTAL && name !== OTHERS);
  if (named.length) return named;
  const top = (name) => Math.max(0, ...points.get(name)?.map(([, value]) => value ?? 0) ?? []);
  const order = [...points.keys()].sort((a, b) => top(b) - top(a));
  return order.length > WORST + 1 ? order.slice(0, WORST) : order;
}

/**
 * The total, the worst queues, and the rest as one line.
 * @param {Map<string, [number, number | null][]>} points by queue
 * @param {string[]} worst
 * @param {boolean} is_largest whether a total is the largest value instead of the sum
 * @returns {Map<string, [number, number | null][]>}
 */
export function grouped(points, worst, is_largest) {
  const rest = [...points.keys()].filter((name) => !worst.includes(name));
  const total = (names) => combined(names.map((name) => points.get(name) ?? []), is_largest ? largest : sum);
  const own = worst.map((name) => /** @type {[string, [number, number | null][]]} */ ([name, points.get(name) ?? []]));
  return new Map([[TOTAL, total([...points.keys()])], ...own, ...(rest.length ? [/** @type {[string, any]} */ ([OTHERS, total(rest)])] : [])]);
}

/** At each time the values of all lines that have a point there; unknown where one is. */
function combined(lines, combine) {
  const at_once = new Map();
  for (const line of lines) for (const [at, value] of line) at_once.set(at, [...(at_once.get(at) ?? []), value]);
  return [...at_once].sort((a, b) => a[0] - b[0]).map(([at, values]) => [at, values.includes(null) ? null : combine(values)]);
}

/**
 * Points of lag as they are drawn: a queue's below ten messages, and the sums' while all these queues are below ten, as means.
 * @param {[number, number | null][][]} queues @param {[number, number | null][][]} sums
 */
export function calmed(queues, sums) {
  const small = queues.map((points) => new Set(points.filter(([, v]) => isSmall(v)).map(([at]) => at)));
  const means = (points, isCalm) => {
    const drawn = calm(points.map(([, v]) => v), isCalm && ((i) => isCalm(points[i][0])), (i) => points[i][0] / 1000);
    return points.map(([at], i) => [at, drawn[i]]);
  };
  return [queues.map((points) => means(points)), sums.map((points) => means(points, (at) => small.every((times) => times.has(at))))];
}
