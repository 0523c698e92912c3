/* Offsets travel as strings: they are 64-bit and JavaScript's numbers are not. Here they become BigInt, and the small
   differences one can draw become numbers. null means unknown and stays null. */

/** @param {string | null | undefined} text @returns {bigint | null} */
export const offset = (text) => (text === null || text === undefined || text === "" ? null : BigInt(text));

/**
 * How far b lies above a, as a number to draw with; null when either is unknown.
 * @param {bigint | null} a
 * @param {bigint | null} b
 */
export const gap = (a, b) => (a === null || b === null ? null : Number(b - a));

/** A group's lag in a queue. @returns {number | null} */
export const lagOf = (row) => gap(row.from_zero ? 0n : offset(row.committed), offset(row.max));

/** The messages of that lag which retention deleted. Twin of sandbox/queries/rows/lag.py, like the next one. */
export function deletedLag(row) {
  const lag = lagOf(row), low = offset(row.min);
  return lag === null || low === null ? 0 : Math.max(0, Math.min(lag, lag - Number(BigInt(row.max) - low)));
}

/** Those of them that no member has: neither finished nor in its memory. */
export const deletedUnread = (row) => (deletedLag(row) ? Math.max(0, gap(readTo(row), offset(row.min)) ?? 0) : 0);

/** The offset after the last message that the group has read, or has in a member's memory; null: it has no offset. */
export function readTo(row) {
  const listed = row.cells ? offset(row.cells_from ?? row.in_memory) : null, cached = row.cached ? BigInt(row.cached.max) + 1n : null;
  const held = listed === null ? null : listed + BigInt(runs(row.cells).reduce((sum, [, count]) => sum + count, 0));
  return offset(row.committed) === null ? null : [offset(row.in_memory), held, cached].reduce(larger, offset(row.committed));
}

/** @param {bigint | null} a @param {bigint | null} b */
export const larger = (a, b) => (a === null ? b : b === null ? a : a > b ? a : b);

/**
 * Runs of `3d4p5b`: [["d", 3], ["p", 4], ["b", 5]]. A letter alone counts one.
 * @param {string | null} [cells]
 * @returns {["d" | "p" | "b", number][]}
 */
export function runs(cells) {
  /** @type {["d" | "p" | "b", number][]} */
  const found = [];
  for (const [, count, state] of (cells || "").matchAll(/(\d*)([dpb])/g)) found.push([/** @type {"d" | "p" | "b"} */ (state), count ? Number(count) : 1]);
  return found;
}
