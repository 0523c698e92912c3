/* Moves of a plan: members and queues now, lanes, members and queues then; and the ring of consistent hashing. One unit
   is one CSS pixel at the drawing's own size. */
import { $, svg } from "./dom.js";

const LINE = 20, WIDTH = 400, COLUMN = 112, RING = 118, MIDDLE = 150, TURN = 2 ** 32;
const MOST_NAMED = 64, MOST_LETTERS = 24;
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** before, after: a line for each member (its `queue` is empty) and for each of its queues. */
export function columnsOf({ before, after }) {
  const y = (i) => LINE * i + LINE / 2 + 3, right = WIDTH - COLUMN, middle = WIDTH / 2, lanes = [];
  const old = new Map(before.map(({ queue }, i) => [queue, y(i)]));
  after.forEach((line, i) => {
    const from = line.queue && old.get(line.queue);
    if (from) lanes.push({ ...line, d: `M${COLUMN} ${from}C${middle} ${from} ${middle} ${y(i)} ${right} ${y(i)}` });
  });
  return {
    width: WIDTH, height: LINE * Math.max(1, before.length, after.length) + 6,
    lanes: lanes.sort((a, b) => Number(a.moved) - Number(b.moved)), // moves above what stays
    texts: [
      ...before.flatMap((line, i) => texts(line, y(i), [COLUMN - 6, "end"], [2, "start"])),
      ...after.flatMap((line, i) => texts(line, y(i), [right + 6, "start"], [WIDTH - 2, "end"])),
    ],
  };
}

/** inner, outer: x and anchor beside the lanes and at the edge. */
function texts({ queue, label, short, me, moved, count }, y, inner, outer) {
  const text = (name, [x, anchor], said) => ({ name, x, y, anchor, said });
  if (queue) return [text(moved ? "pq moved" : "pq", inner, short)];
  return [text(`pm ${me}`, outer, cut(label, 11)), text("pc", inner, count)];
}

/** places: [position, label, class] of members; queues: [position, short name, moved]. Twelve o'clock is 0, clockwise. */
export function ringOf({ places, queues }) {
  const arrows = places.length === 0 ? [] : queues.map(([position, short, moved]) => {
    const [to, , me] = places.find(([place]) => place >= position) ?? places[0];
    return { d: arc(position, to), tick: at(position, RING), text: at(position, RING - 28), short, me, moved };
  });
  return { arrows, dots: places.map(([place, label, me]) => ({ at: at(place, RING), label, me })) };
}

function at(position, radius) {
  const turn = (2 * Math.PI * position) / TURN, r1 = (v) => Math.round(v * 10) / 10;
  return [r1(MIDDLE + radius * Math.sin(turn)), r1(MIDDLE - radius * Math.cos(turn))];
}

/** Inside the ring, the way a queue goes until it meets a member. */
function arc(from, to) {
  const radius = RING - 9, large = (to - from + TURN) % TURN > TURN / 2 ? 1 : 0;
  return `M${at(from, radius).join(" ")}A${radius} ${radius} 0 ${large} 1 ${at(to, radius).join(" ")}`;
}

/** Draw what the server's answer carries. */
export function drawPlan(root) {
  const columns = $("#plan-columns", root), ring = $("#plan-ring", root);
  if (columns) drawColumns(columns, columnsOf(JSON.parse(columns.dataset.drawing)));
  if (ring) drawRing(ring, ringOf(JSON.parse(ring.dataset.drawing)));
}

function drawColumns(root, { width, height, lanes, texts: said }) {
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  root.append(
    ...lanes.map(({ d, me, moved }) => svg("path", { class: `pl ${me}${moved ? " moved" : ""}`, d })),
    ...said.map((one) => svg("text", { class: one.name, x: one.x, y: one.y, "text-anchor": one.anchor }, one.said)),
  );
}

function drawRing(root, { arrows, dots }) {
  const named = dots.length <= MOST_NAMED, lettered = arrows.length <= MOST_LETTERS;
  const text = (name, [x, y], said) => svg("text", { class: name, x, y }, said), circle = (name, [cx, cy], r) => svg("circle", { class: name, cx, cy, r });
  root.append(
    circle("rim", [MIDDLE, MIDDLE], RING),
    ...arrows.flatMap((one) => [svg("path", { class: `walk ${one.me}${one.moved ? " moved" : ""}`, d: one.d }), circle("tick", one.tick, 2.6), ...(lettered ? [text("qn", one.text, one.short)] : [])]),
    ...dots.flatMap((one) => [circle(`node ${one.me}`, one.at, named ? 7 : 3), ...(named ? [text("nn", one.at, cut(one.label, 2))] : [])]),
  );
}
