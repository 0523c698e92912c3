/* The drawing plan of a strip: one queue row in, one path per layer and a few labels out. Pure, so that tests/drawings
   test it without a browser. Zones are fills, positions are marks; an unknown value draws nothing, never 0. */
import { cells } from "./strip_cells.js";
import { number } from "./format.js";
import { larger, offset } from "./offsets.js";
import { scale } from "./scale.js";

export const r1 = (v) => Math.round(v * 10) / 10;
const ROOM_FOR_TWO = 46; // px of height; in lower rows the chevron alone is drawn
const box = (x, y, w, h) => (w > 0 ? `M${r1(x)} ${r1(y)}h${r1(w)}v${r1(h)}h${r1(-w)}z` : "");

/** Back to front. Every layer is one path, every label one text; a layer with nothing to say has an empty path. */
export const LAYERS = [
  "base", "done", "deleted", "lag", "unknown", "risk", "between", "replay", "skip", "finished", "working", "waiting",
  "pinned", "break", "min", "max", "last", "none", "stem", "pin", "disk", "memory", "next", "patience", "aim", "target",
];
export const LABELS = ["t-min", "t-committed", "t-max", "t-next", "t-pinned", "t-caption"];

/** o: width, height, window, k (root size / 16), compact, selected, now_ms, pin_ms, silent, local, target, held, captions. */
export function planStrip(row, o) {
  const min = offset(row.min) ?? 0n, max = offset(row.max) ?? min;
  const committed = offset(row.committed), memory = offset(row.in_memory), next = offset(row.next_pull), target = offset(o.target);
  const s = scale({ min, max, window: o.window, width: o.width, compact: o.compact });
  const th = Math.round((o.track || 14) * o.k), y = Math.round(o.height / 2 - th / 2 - (o.compact ? 2 : 1));
  const g = { ...s, y, th, bottom: y + th, min, max, committed, memory, next, target, owned: Boolean(row.owner) || o.target !== undefined, listed: Boolean(row.cells), untold: isUntold(row) };
  /** @type {Record<string, string>} */
  const paths = { ...zones(g), ...cells(row, g), ...marks(row, g, o) };
  if (target !== null) Object.assign(paths, preview(g));
  return { paths, texts: o.track ? {} : labels(row, g, o), at: { committed: committed === null ? null : r1(s.x(committed)), next: next === null ? null : r1(s.x(next)) } };
}

/** How far back a strip must reach: to the pin, or to whatever lies behind it. */
export function reach(row) {
  const max = offset(row.max);
  let most = null;
  for (const name of ["committed", "in_memory", "next_pull"]) {
    const at = offset(row[name]);
    if (at !== null && max !== null) most = Math.max(most ?? 0, Number(max - at));
  }
  return most;
}

/** In a real cluster: a member reads the queue and does not report its position. */
export const isUntold = (row) => "cached" in row && Boolean(row.owner ?? row.assigned);

function zones({ owned, listed, untold, x, y, th, min, max, committed, memory, next, lo, whole, deleted, history, gap, right, bottom }) {
  /* Nothing lies left of offset 0, not even deleted messages. */
  const start = whole && lo < 0n ? Math.max(0, x(0n)) : 0;
  const from = whole ? x(min) : deleted;
  const consumed = committed === null ? from : x(committed);
  const held = larger(memory, committed);
  const pulled = owned ? (next ?? held) : (held ?? next); // messages that no member holds must be pulled again
  const shown = memory !== null || listed; // a wire client does not show what it holds
  /* Below it everything is deleted, also for a group that has not read it. */
  const first = x(min);
  const zone = (a, b) => box(Math.max(first, x(a)), y, x(b) - Math.max(first, x(a)), th);
  const bx = history + gap / 2, t = th / 3;
  return {
    base: start > 0 ? `M0 ${r1(y + th / 2)}H${r1(start)}` : "",
    done: box(from, y, Math.max(0, Math.min(consumed, right + 3) - from), th),
    deleted: min > 0n ? box(start, y, from - start, th) : "",
    lag: pulled === null || untold ? "" : zone(pulled, max),
    unknown: untold ? zone(held ?? min, max) : pulled === null ? zone(min, max) : owned && !shown && next !== null && committed !== null && next > committed ? zone(committed, next) : "",
    risk: committed !== null && memory !== null && memory > committed ? zone(committed, memory) : "",
    between: owned && shown && held !== null && next !== null && next > held ? zone(held, next) : "",
    break: whole ? "" : `M${r1(bx - 4)} ${y - 3}l3 ${r1(t + 1)}l-3 ${r1(t + 1)}l3 ${r1(t + 2)}L${r1(bx + 5)} ${bottom + 3}l-3 ${r1(-t - 2)}l3 ${r1(-t - 1)}l-3 ${r1(-t - 1)}z`,
  };
}

function marks(row, { x, px, y, th, bottom, min, committed, memory, next, left, right }, o) {
  const found = { min: `M${r1(x(min) + 4)} ${y - 3}h-4v${th + 6}h4`, max: `M${r1(right - 1)} ${y - 3}h4v${th + 6}h-4` };
  if (committed === null) found.none = `M${r1(left - 4)} ${bottom + 6}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0m2.2 0h4.6`;
  else {
    const c = r1(x(committed));
    found.stem = `M${c} ${y - 2}v${th + 4}`;
    found.pin = `M${c} ${bottom + 1}l-4.6 7.4h9.2z`;
    if (o.local) found.disk = `M${r1(c + 5)} ${bottom + 3.5}h4l1.5 1.5v4h-5.5z`;
  }
  if (memory !== null && committed !== null && memory !== committed) {
    const m = r1(x(memory));
    if (Math.abs(m - x(committed)) > (o.compact ? 7 : 2)) found.memory = `M${m} ${y - 1}l-4.2 -6.6h8.4z`;
  }
  if (next !== null && (o.silent || (!row.owner && next !== committed))) found.last = `M${r1(x(next))} ${y - 8}V${bottom + 8}`;
  else if (next !== null && row.owner) {
    const n = r1(Math.min(x(next), right));
    const crowded = found.memory && Math.abs(n - x(memory)) < 9; // two marks at one place stand above each other
    const up = crowded && o.height >= ROOM_FOR_TWO ? y - 10 : y;
    if (crowded && up === y) found.memory = "";
    found.next = row.flow_control ? `M${r1(n - 2.5)} ${up - 9}v7M${r1(n + 1)} ${up - 9}v7` : `M${r1(n - 2.5)} ${up - 8}l4.5 4l-4.5 4`;
    const patience = o.held === null || o.held === undefined ? 0 : Math.max(0, Math.min(1, o.held));
    if (patience > 0 && !row.flow_control && !o.compact) found.patience = arc(n - 0.5, up - 4, 5.8, patience);
  }
  if (pinned(row, o)) found.pinned = box(x(offset(row.oldest.offset)) - 1.5, y - 4, Math.max(5, px + 2), th + 8);
  return found;
}

/** A reset that is only planned: what comes again runs back from the pin, what is skipped runs forward. */
function preview({ x, y, th, min, committed, target, bottom }) {
  const t = r1(x(target)), c = committed === null ? t : x(committed), from = Math.max(x(min), Math.min(t, c));
  return {
    replay: t < c ? box(from, y, c - from, th) : "",
    skip: t > c ? box(from, y, t - from, th) : "",
    aim: `M${t} ${y - 2}V${bottom + 2}`,
    target: `M${t} ${y - 8}l4 4l-4 4l-4 -4z`,
  };
}

export const pinned = (row, o) => Boolean(row.oldest && o.now_ms - row.oldest.since_ms > o.pin_ms);

/** Clockwise from twelve, a share of a circle. */
export function arc(cx, cy, r, share) {
  if (share >= 0.999) return `M${r1(cx)} ${r1(cy - r)}a${r} ${r} 0 1 1 -0.01 0`;
  const a = share * 2 * Math.PI;
  return `M${r1(cx)} ${r1(cy - r)}A${r} ${r} 0 ${share > 0.5 ? 1 : 0} 1 ${r1(cx + r * Math.sin(a))} ${r1(cy - r * Math.cos(a))}`;
}

const THIN = "\u2009";
export const textWidth = (text, k) => [...text].reduce((sum, sign) => sum + (sign === THIN ? 2.2 : sign > "\u2e80" ? 10.5 : 6.15) * k, 0);

/** Numbers beside the marks. Two lines, above and below; who comes first keeps the place, who would touch is left out. */
function labels(row, { x, y, bottom, min, max, committed, memory, next, right }, o) {
  const found = {}, k = o.k, below = bottom + 3 + 10 * k, above = Math.max(8 * k, y - 6); // whole in the lowest rows, too
  const lower = [], upper = [];
  const free = (line, a, b) => line.every(([c, d]) => b < c + 2 || a > d - 2);
  const put = (key, line, at, text, anchor) => {
    const w = textWidth(text, k), a = anchor === "end" ? at - w : anchor === "middle" ? at - w / 2 : at;
    if (!free(line, a, a + w) || a < -1 || a + w > o.width + 1) return false;
    line.push([a, a + w]);
    found[key] = [r1(at), r1(line === lower ? below : above), anchor, text];
    return true;
  };
  const c = committed === null ? null : x(committed);
  if (memory !== null && c !== null && memory !== committed) upper.push([x(memory) - 5, x(memory) + 5]);
  if (next !== null && row.owner) upper.push([Math.min(x(next), right) - 7, Math.min(x(next), right) + 6]);
  if (c !== null) {
    const text = number(committed);
    lower.push([c - 5, c + (o.local ? 12 : 5)]);
    if (!o.compact || o.selected) put("t-committed", lower, c - 7, text, "end") || put("t-committed", lower, c + (o.local ? 14 : 8), text, "start");
    const odd = committed > max ? "beyond" : committed < min ? "below" : null;
    if (odd && o.captions && !o.compact) put("t-caption", upper, c - 6, o.captions[odd], "end") || put("t-caption", upper, c + 8, o.captions[odd], "start");
  } else if (o.captions && !o.compact) put("t-caption", lower, x(min) + 8, o.captions.none, "start");
  if (o.compact) return found;
  if (pinned(row, o) && o.captions) {
    const at = x(offset(row.oldest.offset)), text = o.captions.pinned;
    put("t-pinned", upper, at + 10, text, "start") || put("t-pinned", upper, at - 6, text, "end");
  }
  if (!put("t-max", lower, o.width, number(max), "end")) {
    const edge = upper.reduce((least, [a, b]) => (b > o.width - textWidth(number(max), k) ? Math.min(least, a - 1) : least), o.width);
    put("t-max", upper, edge, number(max), "end");
  }
  if (o.selected && o.captions) {
    put("t-min", lower, 0, `${o.captions.min} ${number(min)}`, "start");
    if (next !== null && row.owner) put("t-next", upper, Math.min(x(next), right) - 8, `${o.captions.next} ${number(next)}`, "end");
  }
  return found;
}
