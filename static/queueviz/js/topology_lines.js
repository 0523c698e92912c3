/* Lines between boxes: each one link, or all links between two boxes. They run from port to port in the space between the
   columns; ports of a box are spread in the order of the other ends, so that lines of one box do not cross. */
import { $, $$, attr, calm, cls, el, svg, text } from "./dom.js";
import { isCut, isSlow, linkWord } from "./topology.js";
import { t } from "./words.js";

const TICK_MS = 300, TICK_PX = 8, MOST_TICKS = 20, GAP_PX = 72, EDGE_PX = 8, LEAST_PX = 40, WORD_PX = [96, 28];
const PLACES = [0.5, 0.36, 0.64, 0.28, 0.72, 0.43, 0.57, 0.22, 0.78];

export class Lines {
  #lines = new Map();
  #ticks = 0;
  svg = svg("svg", { class: "lines", "aria-hidden": "true" });

  /** @type {Map<string, any>} box by what it stands for */
  boxes = new Map();

  constructor(map, { root, attached }) {
    this.map = map;
    this.base = root;
    this.attached = attached;
    new ResizeObserver(() => this.#place()).observe(map);
    map.addEventListener("pointerover", ({ target }) => this.near(target.closest?.("[data-box]")?.dataset.box ?? null));
    map.addEventListener("pointerleave", () => this.near(null));
    map.addEventListener("focusin", ({ target }) => this.near(target.closest("[data-box]")?.dataset.box ?? null));
    map.addEventListener("focusout", () => this.near(null));
  }

  /** The boxes are new ones. */
  reset() {
    this.nodes = $(".mapnodes", this.map);
    this.boxes = new Map();
    for (const box of $$("[data-box]", this.nodes)) for (const name of JSON.parse(box.dataset.nodes)) this.boxes.set(name, box);
    this.svg.replaceChildren();
    this.nodes.prepend(this.svg);
    this.#lines.clear();
    this.shape = "";
  }

  paint(data, jump) {
    const groups = new Map();
    for (const [key, row] of Object.entries(data.links)) {
      const [from, to] = [this.boxes.get(row.a), this.boxes.get(row.b)];
      if (!from || !to || from === to) continue;
      const id = `${from.dataset.box} ${to.dataset.box}`;
      if (!groups.has(id)) groups.set(id, { from, to, rows: new Map() });
      groups.get(id).rows.set(key, row);
    }
    const shape = [...groups].map(([id, { rows }]) => `${id} ${[...rows.keys()]}`).sort().join();
    if (shape !== this.shape) this.#build(groups, shape);
    for (const [id, line] of this.#lines) this.#state(line, groups.get(id).rows, data, jump);
    this.#words();
  }

  /** Highlight the lines of this box while it has the pointer or the focus. */
  near(box) {
    if (box === this.at) return;
    this.at = box;
    for (const line of this.#lines.values()) {
      const mine = box !== null && (line.from.dataset.box === box || line.to.dataset.box === box);
      cls(line.node, "near", mine);
      cls(line.node, "far", box !== null && !mine);
    }
  }

  #build(groups, shape) {
    this.shape = shape;
    for (const line of this.#lines.values()) line.word?.remove();
    this.#lines.clear();
    this.svg.replaceChildren();
    for (const [id, { from, to, rows }] of groups) {
      const kind = rows.values().next().value.kind, node = svg("a", { tabindex: "-1" }), title = svg("title");
      const line = { id, from, to, kind, node, title, seen: new Map(), path: svg("path", { class: `l ${kind}` }), hit: svg("path", { class: "hit" }) };
      node.append(title, line.hit, line.path);
      this.svg.append(node);
      this.#lines.set(id, line);
    }
    this.#place();
  }

  #state(line, rows, data, jump) {
    const [[key, row]] = rows, all = [...rows.values()], alone = rows.size === 1;
    const cut = all.find(isCut), slow = all.find(isSlow), broken = cut ?? slow;
    const open = all.some((each) => each.connections);
    cls(line.path, "cut", Boolean(cut));
    cls(line.path, "slow", !cut && Boolean(slow));
    cls(line.path, "idle", !open && !broken);
    const frames = !this.attached && alone && row.connections > 0 && data.clients[row.a]?.kind !== "wire";
    attr(line.node, "href", frames ? `${this.base}wire/?link=${encodeURIComponent(key)}` : `?link=${encodeURIComponent(key)}`);
    attr(line.node, "data-link", frames ? null : key);
    text(line.title, t(frames ? "topology.line" : "topology.line.panel", { a: row.a, b: row.b, kind: t(`link.${row.kind}`), state: linkWord(broken ?? row) }));
    this.#word(line, broken, Boolean(cut), rows);
    for (const [name, each] of rows) this.#beat(line, name, beatOf(each, data), jump || isCutThere(each));
  }

  /** A broken line has a word on it, which opens its panel. */
  #word(line, broken, cut, rows) {
    if (!broken) {
      line.word?.remove();
      line.word = null;
      return;
    }
    if (!line.word) {
      line.word = el("button", { type: "button", class: "linkword" });
      this.nodes.append(line.word);
    }
    const key = [...rows].find(([, row]) => row === broken)[0];
    attr(line.word, "data-link", key);
    cls(line.word, "slow", !cut);
    text(line.word, (cut ? "✂ " : "") + linkWord(broken));
    attr(line.word, "aria-label", `${broken.a}, ${broken.b}: ${linkWord(broken)}`);
  }

  /** Words of broken lines keep out of each other's way as far as their lines let them; the gap is under the word. */
  #words() {
    const taken = [];
    for (const line of this.#lines.values()) {
      if (!line.word || !line.length) {
        attr(line.path, "style", null);
        continue;
      }
      const spots = PLACES.map((share) => ({ share, ...at(line, share) }));
      const free = spots.find(({ x, y }) => !taken.some((other) => Math.abs(other.x - x) < WORD_PX[0] && Math.abs(other.y - y) < WORD_PX[1])) ?? spots[0];
      taken.push(free);
      attr(line.word, "style", `left:${free.x.toFixed(0)}px;top:${free.y.toFixed(0)}px`);
      const gap = Math.min(GAP_PX, line.length / 3), before = line.length * free.share - gap / 2;
      attr(line.path, "style", line.path.classList.contains("cut") ? `stroke-dasharray:${before.toFixed(1)} ${gap.toFixed(1)} ${line.length.toFixed(1)}` : null);
    }
  }

  /** Something was heard since the last frame: a dash runs along the line once. */
  #beat(line, key, count, silent) {
    const before = line.seen.get(key);
    line.seen.set(key, count);
    if (silent || before === undefined || count === null || before === null || count <= before) return;
    if (calm() || this.#ticks >= MOST_TICKS || !line.length) return;
    const dash = svg("path", { class: "tick", d: line.path.getAttribute("d"), "stroke-dasharray": `${TICK_PX} ${line.length + TICK_PX}` });
    this.svg.append(dash);
    this.#ticks++;
    dash.animate([{ strokeDashoffset: TICK_PX }, { strokeDashoffset: -line.length }], { duration: TICK_MS }).finished.finally(() => (dash.remove(), this.#ticks--));
  }

  #place() {
    if (!this.#lines.size || !this.nodes?.isConnected) return;
    const origin = this.nodes.getBoundingClientRect();
    if (getComputedStyle(this.svg).display === "none") return;
    const rects = new Map();
    const rect = (box) => {
      if (!rects.has(box)) {
        const r = box.getBoundingClientRect();
        rects.set(box, { left: r.left - origin.left, right: r.right - origin.left, top: r.top - origin.top, bottom: r.bottom - origin.top, x: r.left - origin.left + r.width / 2, y: r.top - origin.top + r.height / 2 });
      }
      return rects.get(box);
    };
    const sides = (kind) => $$(`[data-kind=${kind}]`, this.nodes).map(rect);
    const between = [Math.max(...sides("broker").map((r) => r.right)), Math.min(...sides("client").map((r) => r.left))];
    const ports = new Map();
    for (const line of this.#lines.values()) for (const [end, other] of [["from", "to"], ["to", "from"]]) {
      const side = sideOf(line, end), id = `${line[end].dataset.box} ${side}`;
      if (!ports.has(id)) ports.set(id, { box: line[end], side, ends: [] });
      ports.get(id).ends.push({ line, end, order: orderOf(side, rect(line[end]), rect(line[other]), line[other].dataset.kind) });
    }
    for (const { box, side, ends } of ports.values()) {
      ends.sort((one, two) => one.order - two.order);
      ends.forEach(({ line, end }, i) => (line[`${end}At`] = portAt(rect(box), side, (i + 0.5) / ends.length, between)));
    }
    for (const line of this.#lines.values()) {
      const d = curve(line.fromAt, line.toAt);
      attr(line.path, "d", d);
      attr(line.hit, "d", d);
      line.length = line.path.getTotalLength();
    }
    this.#words();
  }
}

function at(line, share) {
  const { x, y } = line.path.getPointAtLength(line.length * share);
  return { x, y };
}

const isCutThere = (row) => row.there_cut;

/** What counts beats on a link: heartbeats a broker heard, registrations a name server heard, rounds of asking routes. */
function beatOf(row, data) {
  if (row.kind === "data") return row.heard_ms;
  if (row.kind === "register") return data.views[`${row.b}~${row.a}`]?.last_update_ms ?? null;
  const client = data.clients[row.a];
  return row.kind === "route" && client?.name_server === row.b ? client.route_runs : null;
}

/** Which side of a box a line leaves from. */
function sideOf(line, end) {
  if (line.kind === "replica") return "left";
  return { server: "bottom", broker: "right", client: "left" }[line[end].dataset.kind];
}

/** Order of ports along a side, from the top or from the left: lines to name servers first, the others as they lie. */
function orderOf(side, own, other, kind) {
  if (side !== "bottom") return kind === "server" ? other.x - 1e6 : other.y;
  return kind === "broker" ? other.y - 1e6 : 1e6 - other.y;
}

/** `between`: where the space between brokers and clients begins and ends; no line is to come down over a box. */
function portAt(rect, side, share, between) {
  const down = rect.top + EDGE_PX + share * (rect.bottom - rect.top - 2 * EDGE_PX);
  if (side === "left") return { x: rect.left, y: down, dx: -1, dy: 0 };
  if (side === "right") return { x: rect.right, y: down, dx: 1, dy: 0 };
  const inside = [Math.max(rect.left + 14, between[0] + 8), Math.min(rect.right - 14, between[1] - 8)];
  const [left, right] = inside[1] - inside[0] > LEAST_PX ? inside : [rect.left + 14, rect.right - 14];
  return { x: left + share * (right - left), y: rect.bottom, dx: 0, dy: 1 };
}

/** Out of each port at a right angle. */
function curve(from, to) {
  const reach = from.dx === to.dx && from.dx < 0 ? 26 : Math.max(24, Math.min(140, Math.hypot(to.x - from.x, to.y - from.y) * 0.42));
  const n = (value) => value.toFixed(1);
  return `M${n(from.x)} ${n(from.y)}C${n(from.x + from.dx * reach)} ${n(from.y + from.dy * reach)} ${n(to.x + to.dx * reach)} ${n(to.y + to.dy * reach)} ${n(to.x)} ${n(to.y)}`;
}
