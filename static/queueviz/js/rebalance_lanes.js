/* Lanes of the Rebalance page: from each queue to every member that computed it, holds it or will have it. Where two
   claim one, both lanes have an edge. Paths are kept and rewritten; the browser is asked for sizes when rows move only. */
import { attr, calm, cls, oneOf, svg } from "./dom.js";

const MOST_DRAWN = 400;

export class RebalanceLanes {
  #lanes = new Map();
  moving = false;

  constructor(root, board) {
    this.root = root;
    this.board = board;
    new ResizeObserver(() => this.layout()).observe(board);
  }

  /** `queues` and `minds`: nodes by key, in the order they stand. */
  paint(view, queues, minds) {
    this.view = view;
    this.queues = queues;
    this.minds = minds;
    this.layout();
  }

  layout() {
    if (!this.view || getComputedStyle(this.root).display === "none") return;
    const box = this.root.getBoundingClientRect(), at = (node) => {
      const { top, height } = node.getBoundingClientRect();
      return { y: top - box.top, h: height };
    };
    const wanted = this.#wanted(), shares = new Map(), places = new Map();
    for (const { to } of wanted) shares.set(to, (shares.get(to) ?? 0) + 1);
    const rows = new Map([...this.queues].map(([key, node]) => [key, at(node)])), cards = new Map([...this.minds].map(([id, node]) => [id, at(node)]));
    const seen = new Set();
    for (const lane of wanted) {
      const row = rows.get(lane.key), card = cards.get(lane.to);
      if (!row || !card) continue;
      const nth = (places.get(lane.to) ?? 0) + 1, w = box.width, y1 = row.y + row.h / 2, y2 = card.y + (card.h * nth) / (shares.get(lane.to) + 1);
      places.set(lane.to, nth);
      const d = `M2 ${y1.toFixed(1)}C${(w / 2).toFixed(1)} ${y1.toFixed(1)} ${(w / 2).toFixed(1)} ${y2.toFixed(1)} ${w.toFixed(1)} ${y2.toFixed(1)}`;
      const name = `${lane.key}>${lane.to}`;
      seen.add(name);
      this.#draw(name, lane, d);
    }
    for (const [name, nodes] of this.#lanes) if (!seen.has(name)) this.#drop(name, nodes);
    this.choose(this.chosen ?? null);
  }

  #wanted() {
    const found = [];
    for (const key of this.queues.keys()) {
      const line = this.view.line(key), to = new Set([...line.claims, ...line.held, ...line.due]);
      for (const id of this.minds.keys()) {
        if (!to.has(id)) continue;
        const claims = line.claims.includes(id), held = line.held.includes(id);
        const kind = claims && held ? "has" : claims ? "wants" : held ? (this.view.members[id]?.transport === "tcp" ? "has" : "keeps") : "due";
        found.push({ key, to: id, kind, torn: line.trouble === "twice" && kind !== "due" });
      }
    }
    return found.slice(0, MOST_DRAWN);
  }

  #draw(name, { key, to, kind, torn }, d) {
    let nodes = this.#lanes.get(name);
    const fresh = !nodes;
    if (fresh) {
      nodes = { edge: svg("path", { class: "rl edge" }), path: svg("path", { class: "rl" }), key, to };
      this.root.append(nodes.edge, nodes.path);
      this.#lanes.set(name, nodes);
    }
    attr(nodes.path, "d", d);
    attr(nodes.edge, "d", torn ? d : null);
    oneOf(nodes.path, "me-", this.view.me(to));
    for (const one of ["has", "wants", "keeps", "due"]) cls(nodes.path, one, one === kind);
    cls(nodes.path, "silent", !["running", "starting"].includes(this.view.members[to]?.state ?? "running"));
    if (fresh && this.moving && !calm() && kind === "has") this.#grow(nodes.path);
  }

  #grow(path) {
    const length = path.getTotalLength();
    path.animate([{ strokeDasharray: `${length} ${length}`, strokeDashoffset: length }, { strokeDasharray: `${length} ${length}`, strokeDashoffset: 0 }], { duration: 600, easing: "cubic-bezier(.2,.7,.2,1)" });
  }

  #drop(name, { edge, path }) {
    edge.remove();
    path.remove();
    this.#lanes.delete(name);
  }

  /** Of one queue or one member only; null: all alike. */
  choose(name) {
    this.chosen = name;
    cls(this.root, "chosen", name !== null);
    for (const { path, key, to } of this.#lanes.values()) cls(path, "near", name === key || name === to);
  }
}
