/* Rebalance lanes: one curve per queue from its row to the card of the member that has it. Ports of a card are spread in
   queue order, so lanes of one card never cross. Laid out only when rows or cards move. */
import { attr, calm, cls, oneOf, svg } from "./dom.js";
import { move, STEP_MS } from "./motion.js";
import { colour, inOrder, sharers } from "./names.js";

const MOST_MOVES = 20, STAGGER_MS = 40;
const APART_PX = 16.1, STEP_PX = 5; // of dots: a step of half their distance would look like one backwards
const EASE = "cubic-bezier(.2,.7,.2,1)";
const LOCK = "M-3.2 -.4h6.4v4.4h-6.4zM-2 -.6v-1.4a2 2 0 0 1 4 0v1.4";

export class Lanes {
  lanes = new Map();
  ports = { rows: new Map(), cards: new Map() };
  /** @type {{ w: number, h: number } | null} */
  size = null;
  #flows = false;

  constructor(root, board, rows, cards) {
    this.root = root;
    this.board = board;
    this.rows = rows;
    this.cards = cards;
    const again = () => this.layout();
    const watch = new ResizeObserver(again);
    watch.observe(board);
    this.watchCards = () => {
      watch.disconnect();
      watch.observe(board);
      for (const { node } of cards.cards.values()) watch.observe(node);
    };
    this.watchCards();
    for (const scroller of board.querySelectorAll(".queues, .consumers")) scroller.addEventListener("scroll", again, { passive: true });
  }

  /** Positions of rows and cards: the only code that reads sizes from the browser. */
  layout() {
    if (getComputedStyle(this.root).display === "none") return;
    const board = this.board.getBoundingClientRect();
    const from = (node) => {
      const b = node.getBoundingClientRect();
      return { y: b.top - board.top, h: b.height, left: b.left - board.left, right: b.right - board.left };
    };
    this.size = { w: board.width, h: board.height };
    attr(this.root, "viewBox", `0 0 ${board.width.toFixed(0)} ${board.height.toFixed(0)}`);
    this.ports.rows = new Map([...this.rows.rows].map(([key, { node }]) => [key, from(node)]));
    this.ports.cards = new Map([...this.cards.cards].map(([id, { node }]) => [id, from(node)]));
    if (this.data) this.paint(this.data, true);
  }

  paint(data, jump) {
    this.data = data;
    if (!this.size) return;
    const ends = inOrder(Object.keys(data.queues)).flatMap((key) => endsOf(key, data)), shares = new Map(), seen = new Map();
    for (const { to } of ends) if (to) shares.set(to, (shares.get(to) ?? 0) + 1);
    const names = new Set(ends.map(({ name }) => name));
    for (const name of [...this.lanes.keys()]) if (!names.has(name)) this.#drop(name);
    let moves = 0;
    for (const { name, key, to } of ends) {
      const row = data.queues[key], place = (seen.get(to) ?? 0) + 1;
      seen.set(to, place);
      const d = to ? this.curve(key, to, place / (shares.get(to) + 1)) : null;
      const lane = this.lanes.get(name) ?? this.#make(name), member = data.members[to];
      const state = laneState(row, member), changed = lane.to !== to;
      if (changed && lane.to !== undefined && !jump && !calm() && moves < MOST_MOVES) this.#move(lane, d, moves++);
      lane.to = to;
      this.#draw(lane, d, state, member, row);
      if (lane.to && state === "torn" && row.owner !== row.assigned) this.#draw(lane, d, "torn", member, row);
    }
  }

  curve(key, id, share) {
    const row = this.ports.rows.get(key), card = this.ports.cards.get(id);
    if (!row || !card || !this.size || row.h === 0) return null;
    const y1 = row.y + row.h / 2, y2 = card.y + card.h * share, x1 = row.right + 2, x2 = card.left - 1, mx = (x1 + x2) / 2;
    if (y1 < 26 || y1 > this.size.h) return null;
    const end = Math.max(4, Math.min(this.size.h - 4, y2));
    return { d: `M${x1.toFixed(1)} ${y1.toFixed(1)}C${mx.toFixed(1)} ${y1.toFixed(1)} ${mx.toFixed(1)} ${end.toFixed(1)} ${x2.toFixed(1)} ${end.toFixed(1)}`, x1, y1, mx, my: (y1 + end) / 2, beyond: end !== y2 };
  }

  #make(key) {
    const lane = { path: svg("path", { class: "lane" }), dots: svg("path", { class: "lane dots" }), port: svg("circle", { class: "port", r: 3 }), lock: svg("g", { class: "padlock" }) };
    lane.lock.append(svg("circle", { r: 9.5 }), svg("path", { d: LOCK }));
    this.root.append(lane.path, lane.dots, lane.port, lane.lock);
    this.lanes.set(key, lane);
    return lane;
  }

  #drop(key) {
    const lane = this.lanes.get(key);
    for (const node of [lane.path, lane.dots, lane.port, lane.lock]) node.remove();
    this.lanes.delete(key);
  }

  #draw(lane, curve, state, member, row) {
    const me = colour(member), flows = state === "on" && !curve?.beyond && Boolean(row.rate_per_s) && curve && !calm();
    attr(lane.path, "d", curve?.d ?? null);
    attr(lane.dots, "d", flows ? curve.d : null);
    for (const node of [lane.path, lane.dots, lane.port]) oneOf(node, "me-", me);
    cls(lane.path, "again", (member?.letter ?? "A").charCodeAt(0) - 65 > 5); // colours repeat after six; dashes mark the second round
    cls(lane.path, "beyond", Boolean(curve?.beyond));
    for (const name of ["off", "denied", "torn"]) cls(lane.path, name, state === name);
    cls(lane.port, "hollow", state !== "on");
    const row_port = curve ?? null;
    attr(lane.port, "cx", row_port ? row_port.x1.toFixed(1) : null);
    attr(lane.port, "cy", row_port ? row_port.y1.toFixed(1) : null);
    attr(lane.port, "visibility", row_port ? null : "hidden");
    attr(lane.lock, "visibility", state === "denied" && curve ? null : "hidden");
    if (curve) attr(lane.lock, "transform", `translate(${curve.mx.toFixed(1)} ${curve.my.toFixed(1)})`);
    /* Dots travel at 3 log2(1 + msg/s) px per 100 ms. */
    lane.speed = flows ? 30 * Math.log2(1 + row.rate_per_s) : 0;
    if (flows && !this.still && !this.#flows) this.#flow();
  }

  /** Until no lane has any. */
  #flow() {
    let before = 0;
    move(this, (past_ms) => {
      let most = 0;
      for (const lane of this.lanes.values()) {
        if (!lane.speed) continue;
        most = Math.max(most, lane.speed);
        lane.at = ((lane.at ?? 0) + (lane.speed * (past_ms - before)) / 1000) % APART_PX;
        lane.dots.style.strokeDashoffset = -lane.at;
      }
      before = past_ms;
      this.#flows = !this.still && most > 0;
      return this.#flows ? Math.min(STEP_MS, (STEP_PX / most) * 1000) : 0;
    });
  }

  /** Stop the dots without a connection or while the clock is stopped. */
  hold(still) {
    this.still = still;
  }

  /** The old lane retracts from its card, the new one draws from the queue, one after the other by queue number. */
  #move(lane, curve, order) {
    const old = lane.path.cloneNode();
    const before = old.getAttribute("d");
    if (before) {
      this.root.prepend(old);
      const length = lane.path.getTotalLength();
      old.animate([{ strokeDasharray: `${length} ${length}`, strokeDashoffset: 0 }, { strokeDasharray: `${length} ${length}`, strokeDashoffset: length }], { duration: 300, fill: "forwards" }).finished.then(() => old.remove());
    }
    if (!curve) return;
    attr(lane.path, "d", curve.d);
    const length = lane.path.getTotalLength();
    lane.path.animate([{ strokeDasharray: `${length} ${length}`, strokeDashoffset: length }, { strokeDasharray: `${length} ${length}`, strokeDashoffset: 0 }], { duration: 600, delay: order * STAGGER_MS, easing: EASE, fill: "backwards" });
  }
}

export const target = (row) => row.assigned ?? row.owner ?? null;

/** The lanes of a queue: one, and one for each further member with the same client id, who reads it too. */
export function endsOf(key, { queues, members }) {
  const to = target(queues[key]), reads = (id) => members[id].state === "running" && members[id].queues !== 0;
  const more = to && queues[key].owner === to ? sharers(members, to).filter(reads) : [];
  return [{ name: key, key, to }, ...more.map((id) => ({ name: `${key} ${id}`, key, to: id }))];
}

function laneState(row, member) {
  if (row.lock && row.assigned && row.lock.holder !== row.assigned && row.owner !== row.assigned) return "denied";
  if (member && !["running", "starting"].includes(member.state)) return "off";
  if (!row.owner) return "off";
  if (row.assigned && row.owner !== row.assigned) return "torn";
  return "on";
}
