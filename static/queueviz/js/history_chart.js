/* Lines over time as SVG: the past from the server, the present from the page, one curve. Written anew once a second at
   most; the cursor is its own two nodes. */
import { bandNodes, bandPlan, bandRoom, listBands, wordWidthIn } from "./bands.js";
import { $, attr, el, svg } from "./dom.js";
import { niceTop } from "./chart.js";
import { clock, duration, number, rate } from "./format.js";
import { nameHeights } from "./lag_lines.js";
import { t } from "./words.js";

const PAD = { left: 52, right: 54, top: 14, bottom: 24 }, MINUTE = 60000, NAME_PX = 13;
const STEPS = [10000, 30000, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE, 2 * 60 * MINUTE, 4 * 60 * MINUTE, 6 * 60 * MINUTE, 12 * 60 * MINUTE, 24 * 60 * MINUTE, 7 * 24 * 60 * MINUTE];
const day = (ms) => new Date(ms).toISOString().slice(5, 10);

/** The y axis of lines since `from_ms` ends there. */
export function topOf(lines, from_ms) {
  let top = 1;
  for (const { points } of lines) for (const [at, v] of points) if (v > top && at >= from_ms) top = v;
  return niceTop(top);
}

/** The path of points, with a gap where a value is unknown. */
export function linePath(points, from_ms, x, y) {
  let d = "", pen = false, before = null;
  for (const [at, v] of points) {
    if (at < from_ms || v === null) {
      if (v === null && before !== null) d += "h.01"; // a point alone is a dot
      pen = false;
      before = null;
      continue;
    }
    d += `${pen ? "L" : "M"}${x(at).toFixed(1)} ${y(v).toFixed(1)}`;
    before = pen ? null : v;
    pen = true;
  }
  return before !== null ? `${d}h.01` : d;
}

export class HistoryChart {
  /* [{name, me, tag, points: [[at_ms, value|null], …], drawn}], oldest first; tag: at the end of the line, null: its value;
     drawn: what is drawn instead of the points */
  lines = [];
  /** @type {any[]} */
  bands = []; // of findings
  /** @type {any[]} */
  #plan = [];
  pad = PAD;
  /** @type {number | null} */
  #cursor = null; // at_ms
  from_ms = 0;
  to_ms = 0;
  seam_ms = 0;
  top = 1;
  box = { w: 0, h: 0 };

  constructor(root, { measure, words, legend, readout, list }) {
    this.root = root;
    this.list = list; // the words of numbered bands
    this.notes = el("div", { class: "chart-notes" });
    root.append(this.notes);
    this.measure = measure;
    this.words = words;
    this.legend = legend;
    this.readout = readout;
    this.svg = $("svg", root);
    new ResizeObserver(() => this.paint()).observe(root);
    root.addEventListener("pointermove", (event) => this.#point(event.clientX - root.getBoundingClientRect().left));
    root.addEventListener("pointerleave", () => document.activeElement !== root && this.#move(null));
    root.addEventListener("blur", () => this.#move(null));
    root.addEventListener("keydown", (event) => this.#key(event));
  }

  show(lines, bands, { from_ms, to_ms, seam_ms }) {
    this.lines = lines;
    this.bands = bands;
    this.from_ms = from_ms;
    this.to_ms = to_ms;
    this.seam_ms = seam_ms;
    this.paint();
  }

  value(v) {
    if (v === null || v === undefined) return this.words.unknown;
    return this.measure === "age" ? duration(v) : this.measure === "flow" ? `${rate(v)}/s` : number(Math.round(v));
  }

  paint() {
    const width = this.root.clientWidth, height = this.root.clientHeight;
    if (!width || !this.to_ms) return;
    const w = width - PAD.left - PAD.right, axis = { from_ms: this.from_ms, to_ms: this.to_ms, width: w };
    this.#plan = bandPlan(this.bands, { ...axis, wordWidth: wordWidthIn(this.root) });
    this.pad = { ...PAD, top: PAD.top + bandRoom(this.#plan) };
    this.box = { w, h: height - this.pad.top - PAD.bottom };
    this.top = topOf(this.lines, this.from_ms);
    attr(this.svg, "viewBox", `0 0 ${width} ${height}`);
    const nodes = [...this.#rows(), ...this.#columns()];
    if (this.seam_ms > this.from_ms && this.seam_ms < this.to_ms) nodes.push(...this.#seam());
    for (const line of this.lines.toReversed()) nodes.push(svg("path", { class: `line ${line.me}`, d: linePath(line.drawn ?? line.points, this.from_ms, (at) => this.x(at), (v) => this.y(v)) }));
    const named = this.lines.flatMap((line) => {
      const [at, value] = line.points.at(-1) ?? [0, null];
      return line.tag === "" || value === null || at < this.to_ms - (this.to_ms - this.from_ms) / 20 ? [] : [{ line, value: line.drawn?.at(-1)[1] ?? value }];
    });
    const heights = nameHeights(named.map(({ value: v }) => this.y(v)), { gap: NAME_PX, top: this.pad.top, bottom: this.pad.top + this.box.h - 4 });
    for (const [i, { line, value }] of named.entries())
      if (heights[i] !== null) nodes.push(svg("text", { class: `name ${line.me}`, x: PAD.left + this.box.w + 6, y: heights[i] + 4 }, line.tag ?? this.value(value)));
    this.marks = svg("g");
    this.svg.replaceChildren(...nodes, this.marks);
    this.notes.replaceChildren(...bandNodes(this.#plan, { left: PAD.left, top: this.pad.top, h: this.box.h }, 0));
    listBands(this.list, this.#plan);
    this.#legend();
    this.#summary();
    this.#mark();
  }

  x(at) {
    return PAD.left + ((at - this.from_ms) / (this.to_ms - this.from_ms)) * this.box.w;
  }

  y(v) {
    return this.pad.top + (1 - v / this.top) * this.box.h;
  }

  #rows() {
    const count = this.top === 1 ? 1 : 4, found = [];
    for (let i = 0; i <= count; i++) {
      const v = (this.top * i) / count, y = this.y(v);
      const word = this.measure === "age" ? duration(v) : this.measure === "flow" ? rate(v) : number(Number.isInteger(v) ? v : v.toFixed(1));
      found.push(svg("path", { class: "grid", d: `M${PAD.left} ${y.toFixed(1)}h${this.box.w}` }), svg("text", { x: PAD.left - 6, y: y + 3, "text-anchor": "end" }, word));
    }
    return found;
  }

  #columns() {
    const span = this.to_ms - this.from_ms, most = Math.max(2, Math.floor(this.box.w / 74));
    const step = STEPS.find((s) => span / s <= most) ?? STEPS[STEPS.length - 1], found = [];
    for (let at = Math.ceil(this.from_ms / step) * step; at <= this.to_ms; at += step) {
      const x = this.x(at);
      const word = step >= 24 * 60 * MINUTE ? day(at) : clock(at, 0, { millis: false }).slice(0, step < MINUTE ? 8 : 5);
      found.push(svg("path", { class: "grid", d: `M${x.toFixed(1)} ${this.pad.top}v${this.box.h + 4}` }), svg("text", { x, y: this.pad.top + this.box.h + 16, "text-anchor": "middle" }, word));
    }
    return found;
  }

  #seam() {
    const x = this.x(this.seam_ms), { computed, live } = this.words;
    const words = [];
    if (x - PAD.left > 80) words.push(svg("text", { class: "seamword", x: x - 5, y: this.pad.top - 4, "text-anchor": "end" }, computed));
    if (PAD.left + this.box.w - x > 40) words.push(svg("text", { class: "seamword", x: x + 5, y: this.pad.top - 4 }, live));
    return [svg("path", { class: "seam", d: `M${x.toFixed(1)} ${this.pad.top - 10}v${this.box.h + 10}` }), ...words];
  }

  #legend() {
    const key = this.lines.map((line) => line.name + line.me).join();
    if (key === this.drawn) return;
    this.drawn = key;
    this.legend.replaceChildren(...this.lines.map((line) => {
      const mark = svg("svg", { width: 22, height: 8, class: line.me, "aria-hidden": "true" });
      mark.append(svg("path", { d: "M1 4h20" }));
      return el("li", {}, mark, el("span", { class: "mono" }, line.name));
    }));
  }

  #summary() {
    let best = null;
    for (const line of this.lines) for (const [at, v] of line.points) if (v !== null && at >= this.from_ms && (!best || v > best.v)) best = { v, name: line.name };
    const said = { measure: this.words[this.measure], begin: clock(this.from_ms, 0, { millis: false }), end: clock(this.to_ms, 0, { millis: false }), name: best?.name ?? "–", value: this.value(best?.v) };
    attr(this.root, "aria-label", this.words.summary.replace(/\{(\w+)\}/g, (_, name) => said[name]));
  }

  #times() {
    const all = new Set();
    for (const line of this.lines) for (const [at] of line.points) if (at >= this.from_ms) all.add(at);
    return [...all].sort((a, b) => a - b);
  }

  #point(x) {
    if (!this.box.w) return;
    const at = this.from_ms + ((x - PAD.left) / this.box.w) * (this.to_ms - this.from_ms), times = this.#times();
    if (!times.length) return;
    this.#move(times.reduce((best, other) => (Math.abs(other - at) < Math.abs(best - at) ? other : best)));
  }

  #key(event) {
    const times = this.#times(), cursor = this.#cursor, here = cursor === null ? times.length : times.findIndex((at) => at >= cursor);
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, PageUp: here - 20, PageDown: here + 20, Home: 0, End: times.length - 1 }[event.key];
    if (to === undefined || !times.length) return;
    event.preventDefault();
    this.#move(times[Math.min(times.length - 1, Math.max(0, to))]);
  }

  #move(at) {
    this.#cursor = at;
    this.#mark();
  }

  #mark() {
    if (!this.marks) return;
    const at = this.#cursor;
    if (at === null || at < this.from_ms) {
      this.marks.replaceChildren();
      this.readout.textContent = "";
      return;
    }
    const x = this.x(at), found = [], said = [];
    for (const line of this.lines) {
      const v = line.points.find((point) => point[0] === at)?.[1];
      if (v === undefined) continue;
      said.push(`${line.name} ${this.value(v)}`);
      if (v !== null) found.push(svg("circle", { class: `at ${line.me}`, cx: x, cy: this.y(v), r: 3.5 }));
    }
    this.marks.replaceChildren(svg("path", { class: "cursor", d: `M${x} ${this.pad.top}v${this.box.h}` }), ...found);
    for (const band of this.#plan) if (band.since_ms <= at && at <= (band.until_ms ?? this.to_ms)) said.push(t("history.finding", { words: band.word }));
    const ago = duration(Math.max(0, this.to_ms - at));
    this.readout.textContent = [this.words.at.replace("{time}", clock(at, 0, { millis: false })).replace("{ago}", ago), ...said].join(" · ");
  }
}
