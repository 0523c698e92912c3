/* Number formats: thin spaces from four digits, true minus, a space before units, an en dash for unknown.
   queueviz/templatetags/formats.py writes the same; tests/drawings/formats.json compares them. */

const THIN = "\u2009";
export const UNKNOWN = "–";

export function number(value) {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  const text = String(value), minus = text.startsWith("-");
  const digits = minus ? text.slice(1) : text;
  return (minus ? "−" : "") + digits.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** A difference, with its sign. */
export function change(value) {
  const text = number(value);
  return text === UNKNOWN || text.startsWith("−") || text === "0" ? text : `+${text}`;
}

/** A tile's count: 12.4 k. Offsets are never abbreviated. */
export function brief(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const n = Number(value);
  if (n < 10000) return number(Math.round(n));
  return n < 1e6 ? `${(n / 1000).toFixed(n < 1e5 ? 1 : 0)} k` : `${(n / 1e6).toFixed(n < 1e8 ? 1 : 0)} M`;
}

/** Three significant digits, without a unit. */
export function rate(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value >= 100) return number(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value.toFixed(value === 0 ? 0 : value < 1 ? 2 : 1);
}

const two = (n) => String(n).padStart(2, "0");

export function duration(ms) {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms < 995) return `${Math.max(0, Math.round(ms / 10) * 10)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.floor(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} m ${two(Math.floor(s % 60))} s`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h} h ${two(m % 60)} m` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

/** A rest of time in whole seconds, rounded up: it is over at 0. */
export const remaining = (ms) => duration(Math.ceil(Math.max(0, ms) / 1000) * 1000);

export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  let n = Number(value), unit = 0;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  while (n >= 1024 && unit < 4) [n, unit] = [n / 1024, unit + 1];
  return `${unit === 0 ? number(Math.round(n)) : n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/** 10:42:17.350 in the session's zone (minutes east of UTC). */
export function clock(ms, zone_min = 0, { millis = true } = {}) {
  if (ms === null || ms === undefined) return UNKNOWN;
  const t = new Date(ms + zone_min * 60000), year = t.getUTCFullYear();
  if (!(year > 0 && year < 10000)) return `${number(ms)} ms`;
  const whole = `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())}`;
  return millis ? `${whole}.${String(t.getUTCMilliseconds()).padStart(3, "0")}` : whole;
}
