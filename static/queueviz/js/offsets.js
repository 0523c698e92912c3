/* Offsets travel as strings: they are 64-bit and JavaScript's numbers are not. Here they become BigInt, and the small
   differences one can draw become numbers. null means nobody knows, and stays null. */

export const offset = (text) => (text === null || text === undefined || text === "" ? null : BigInt(text));

/** How far b lies above a, as a number to draw with; null when either is unknown. */
export const gap = (a, b) => (a === null || b === null ? null : Number(b - a));

export const larger = (a, b) => (a === null ? b : b === null ? a : a > b ? a : b);
export const smaller = (a, b) => (a === null ? b : b === null ? a : a < b ? a : b);

/** Runs of `3d4p5b`: [["d", 3], ["p", 4], ["b", 5]]. A letter alone counts one. */
export function runs(cells) {
  const found = [];
  for (const [, count, state] of (cells || "").matchAll(/(\d*)([dpb])/g)) found.push([state, count ? Number(count) : 1]);
  return found;
}
