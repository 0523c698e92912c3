/* The three-part scale of a strip: deleted stub, compressed history, and a linear window whose right edge is the head.
   queueviz/boards/strip_scale.py is its twin; tests/browser/fixtures/strips.json holds both to the same numbers. */

const LADDER = [5, 10, 20]; // times a power of ten: 50, 100, 200, 500, 1 000, …

/** The window all strips of a board share: the smallest step of the ladder that shows the largest lag. */
export function windowFor(lags) {
  const need = Math.max(0, ...lags) + 6;
  for (let power = 1; power < 1e15; power *= 10)
    for (const step of LADDER) if (step * power >= need && step * power >= 50) return step * power;
  return need;
}

/** A window that grows at once and shrinks only after five quiet seconds, so strips do not breathe. */
export class SharedWindow {
  size = 50;
  #fits_since = null;
  fit(lags, now_ms) {
    const wanted = windowFor(lags);
    if (wanted >= this.size) [this.size, this.#fits_since] = [wanted, null];
    else if (this.#fits_since === null) this.#fits_since = now_ms;
    else if (now_ms - this.#fits_since >= 5000) [this.size, this.#fits_since] = [wanted, null];
    return this.size;
  }
}

export const HEAD = 9;

/** x of any offset. min and max are BigInt; an offset outside them is pinned to the edge, never lost. */
export function scale({ min, max, window, width, compact }) {
  const deleted = compact ? 9 : 18;
  const history = compact ? 26 : Math.max(54, width * 0.15);
  const gap = compact ? 7 : 12;
  const lo = max - BigInt(window);
  const whole = min >= lo; // the window already shows everything on disk: no break
  const left = history + gap;
  const span = Math.max(1, width - left - HEAD);
  const px = span / window;
  const x = (v) => {
    if (v >= max) return left + span;
    if (v >= lo) return left + span - Number(max - v) * px;
    if (whole) return Math.max(0, left - Number(lo - v) * px);
    if (v <= min) return deleted;
    return deleted + (Number(v - min) / Number(lo - min)) * (history - deleted);
  };
  return { x, px, lo, whole, left, right: left + span, history, gap, deleted: whole ? x(min) : deleted };
}
