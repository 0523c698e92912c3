/* The messages a consumer holds, drawn between the in-memory offset and the next pull: solid while a thread works on
   them, outlined while they wait, hatched once done. Cells that are too thin merge into one density bar per 4 px. */
import { offset, runs } from "./offsets.js";

const BAR = 4;
const r1 = (v) => Math.round(v * 10) / 10;

export function cells(row, { x, px, y, th, next }) {
  const first = offset(row.cells_from ?? row.in_memory);
  if (first === null || !row.cells) return { finished: "", working: "", waiting: "" };
  const held = pulled(row.cells, first, next);
  return px < 1.6 ? density(held, x(first), px, y, th) : single(held, x(first), px, y, th);
}

/** Pulled messages that are no longer held are done: the queue lists cells up to its last unfinished message. */
function pulled(text, first, next) {
  const listed = runs(text).reduce((sum, [, count]) => sum + count, 0), rest = next === null ? 0 : Number(next - first) - listed;
  return rest > 0 ? `${text}${rest}d` : text;
}

function single(text, start, px, y, th) {
  const width = Math.max(1.2, px - 1), round = width >= 3 ? 1 : 0;
  let finished = "", working = "", waiting = "", at = start;
  for (const [state, count] of runs(text)) {
    if (state === "d") finished += `M${r1(at)} ${y}h${r1(count * px)}v${th}h${r1(-count * px)}z`;
    else
      for (let i = 0; i < count; i++) {
        const left = at + i * px + 0.5;
        if (state === "p") working += cell(left, y, width, th, round);
        else waiting += cell(left, y + 2, width, th - 4, round);
      }
    at += count * px;
  }
  return { finished, working, waiting };
}

const cell = (x, y, w, h, r) =>
  r
    ? `M${r1(x + 1)} ${y}h${r1(w - 2)}q1 0 1 1v${h - 2}q0 1 -1 1h${r1(2 - w)}q-1 0 -1 -1v${2 - h}q0 -1 1 -1z`
    : `M${r1(x)} ${y}h${r1(w)}v${h}h${r1(-w)}z`;

/** Height share = processing, then done, then buffered, in one bar per four pixels. */
function density(text, start, px, y, th) {
  /** @type {{ d: number, p: number, b: number }[]} */
  const bars = [];
  const per = BAR / px;
  let at = 0;
  for (const [state, count] of runs(text)) {
    for (let left = count; left > 0; ) {
      const bar = Math.floor(at / per + 1e-9), room = Math.min(left, (bar + 1) * per - at);
      (bars[bar] ??= { d: 0, p: 0, b: 0 })[state] += room / per;
      at += room;
      left -= room;
    }
  }
  const paths = { finished: "", working: "", waiting: "" };
  bars.forEach(({ d, p, b }, i) => {
    const x = r1(start + i * BAR);
    let floor = y + th;
    for (const [name, share] of /** @type {const} */ ([["working", p], ["finished", d], ["waiting", b]])) {
      const h = r1(share * th);
      if (h <= 0) continue;
      floor = r1(floor - h);
      paths[name] += `M${x} ${floor}h${BAR - 0.5}v${h}h${0.5 - BAR}z`;
    }
  });
  return paths;
}
