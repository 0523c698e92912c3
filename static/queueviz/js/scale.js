/* The three-part scale of a strip: deleted stub, compressed history, and a linear window whose right edge is the head. */

export const WIDEST = 5000; // messages; what is further behind lies left of the break
const LADDER = [20, 30, 50, 70, 100, 150]; // times a power of ten
const FULL = 0.85, EMPTY = 0.3, CALM_MS = 5000;

/** The window all strips of a board share: of the ladder's steps the smallest one half as large again as the largest lag,
    so that the lag fills 40 to 67 % of it. */
export function windowFor(lags, widest = WIDEST) {
  const most = Math.max(0, ...lags);
  for (let power = 1; ; power *= 10)
    for (const step of LADDER) {
      if (step * power >= widest) return widest;
      if (2 * step * power >= 3 * most) return step * power;
    }
}

/** The window after this one. It grows at once when the lag has filled it, and shrinks to the largest lag of a calm time
    once that has left it nearly empty for five seconds of the viewer and of the sandbox: strips do not breathe.
    state: {size, calm: {most, eye_ms, now_ms} | null}, null at first. */
export function nextWindow(state, lags, eye_ms, now_ms) {
  const most = Math.max(0, ...lags), wanted = windowFor([most]);
  if (!state || (wanted > state.size && most > state.size * FULL)) return { size: wanted, calm: null };
  if (most >= state.size * EMPTY || wanted >= state.size) return { size: state.size, calm: null };
  const calm = state.calm ?? { most, eye_ms, now_ms };
  const peak = Math.max(calm.most, most), over = eye_ms - calm.eye_ms >= CALM_MS && now_ms - calm.now_ms >= CALM_MS;
  return over ? { size: windowFor([peak]), calm: null } : { size: state.size, calm: { ...calm, most: peak } };
}

export const HEAD = 9;

/** x of any offset. min and max are BigInt; an offset outside them is pinned to the edge, never lost. */
export function scale({ min, max, window, width, compact }) {
  const deleted = compact ? 9 : 18;
  const history = compact ? 26 : Math.max(54, width * 0.15);
  const gap = compact ? 7 : 12;
  const lo = max - BigInt(window);
  /* The window already shows everything on disk: no break. */
  const whole = min >= lo;
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
