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
