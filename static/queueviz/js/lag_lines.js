/* How lines of lag are drawn: the total, the calm line of a few messages, and where the names at their ends stand. */

const CALM_BELOW = 10, OVER_S = 10; // messages of a queue; seconds: two commits, so a lag of a few messages shows no commits

/** The sum of all queues at each second; null where one is unknown. @param {(number | null)[][]} ys */
export const totals = (ys) => (ys[0] ?? []).map((_, at) => ys.reduce((sum, line) => (sum === null || line[at] === null ? null : sum + line[at]), /** @type {number | null} */ (0)));

export const isSmall = (value) => value !== null && value < CALM_BELOW;

/**
 * A line as it is drawn: exact, but where it `isCalm` the mean of the last ten seconds that were calm, too.
 * @param {(number | null)[]} line
 * @param {(at: number) => boolean} [isCalm]
 * @param {(at: number) => number} [secondOf] of a value; without it, one value per second
 */
export const calm = (line, isCalm = (at) => isSmall(line[at]), secondOf = (at) => at) => line.map((value, at) => {
  if (value === null || !isCalm(at)) return value;
  let sum = 0, seconds = 0;
  for (let i = at; i >= 0 && secondOf(at) - secondOf(i) < OVER_S && line[i] !== null && isCalm(i); i--) (sum += /** @type {number} */ (line[i])), seconds++;
  return sum / seconds;
});

/** True at the seconds at which no queue has ten messages of lag. @param {(number | null)[][]} ys */
export const calmSeconds = (ys) => (ys[0] ?? []).map((_, at) => ys.every((line) => isSmall(line[at])));

/** The total and the queues as they are drawn. @param {(number | null)[][]} ys */
export function calmLines(ys) {
  const seconds = calmSeconds(ys);
  return [calm(totals(ys), (at) => seconds[at]), ...ys.map((line) => calm(line))];
}

/**
 * The heights of names beside these points: as near as they can be, `gap` apart, between `top` and `bottom`. The first
 * come first; null where there is no room.
 * @param {number[]} ys @param {{ gap: number, top: number, bottom: number }} room
 * @returns {(number | null)[]}
 */
export function nameHeights(ys, { gap, top, bottom }) {
  const most = Math.max(0, Math.floor((bottom - top) / gap) + 1), order = ys.map((_, i) => i).slice(0, most).sort((a, b) => ys[a] - ys[b] || a - b);
  const heights = /** @type {(number | null)[]} */ (ys.map(() => null));
  let least = top;
  for (const i of order) least = (heights[i] = Math.max(least, ys[i])) + gap;
  let highest = bottom;
  for (const i of order.toReversed()) highest = (heights[i] = Math.min(highest, /** @type {number} */ (heights[i]))) - gap;
  return heights;
}
