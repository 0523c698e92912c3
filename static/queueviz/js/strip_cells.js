/* The messages a consumer holds, drawn between the in-memory offset and the next pull: solid while a thread works on
   them, outlined while they wait, hatched once done. Below min only the copies in its memory are left: "done" is no more
   to be seen there, and was never so where the next pull jumped to min. Too thin cells merge into density bars of 4 px. */
import { offset, runs } from "./offsets.js";

const BAR = 4;
const r1 = (v) => Math.round(v * 10) / 10;

export function cells(row, { x, px, y, th, next, min }) {
  const first = offset(row.cells_from ?? row.in_memory);
  if (first === null || !row.cells) return { finished: "", working: "", waiting: "" };
  const held = stored(pulled(row.cells, first, next), Number(min - first));
  return px < 1.6 ? density(held, x(first), px, y, th) : single(held, x(first), px, y, th);
}

/** Pulled messages that are no longer held are done: the queue lists cells up to its last unfinished message. */
function pulled(text, first, next) {
  const listed = runs(text), rest = next === null ? 0 : Number(next - first) - listed.reduce((sum, [, count]) => sum + count, 0);
  return rest > 0 ? [...listed, /** @type {const} */ (["d", rest])] : listed;
}

/** The runs with the first `deleted` messages: what is done of those becomes "x", which is not drawn. */
function stored(listed, deleted) {
  let left = Math.max(0, deleted);
  return listed.flatMap(([state, count]) => {
    const gone = Math.min(left, count);
    left -= gone;
    return state === "d" ? [["x", gone], ["d", count - gone]].filter(([, some]) => some) : [[state, count]];
  });
}

function single(listed, start, px, y, th) {
  const width = Math.max(1.2, px - 1), round = width >= 3 ? 1 : 0;
  let finished = "", working = "", waiting = "", at = start;
  for (const [state, count] of listed) {
    if (state === "d") finished += `M${r1(at)} ${y}h${r1(count * px)}v${th}h${r1(-count * px)}z`;
    else if (state !== "x")
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
function density(listed, start, px, y, th) {
  /** @type {{ d: number, p: number, b: number, x: number }[]} */
  const bars = [];
  const per = BAR / px;
  let at = 0;
  for (const [state, count] of listed) {
    for (let left = count; left > 0; ) {
      const bar = Math.floor(at / per + 1e-9), room = Math.min(left, (bar + 1) * per - at);
      (bars[bar] ??= { d: 0, p: 0, b: 0, x: 0 })[state] += room / per;
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
