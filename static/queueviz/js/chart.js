/* Lag over five minutes: the total bold, queues thin. uPlot draws lines and axes and is fetched with the first chart;
   names of hot queues, event lines and bands of findings are ours, beside their lines instead of in a legend. */
import { bandNodes, bandPlan, Bands, listBands, wordWidthIn } from "./bands.js";
import { el } from "./dom.js";
import { number } from "./format.js";
import { t } from "./words.js";

const SPAN_S = 300, LADDER = [1, 2, 5];
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The y axis ends on a nice number, never below ten. */
export function niceTop(value) {
  for (let power = 10; power < 1e15; power *= 10) for (const step of LADDER) if (step * power >= value) return step * power;
  return value;
}

const CALM_BELOW = 10, OVER_S = 5; // messages; seconds

/** The sum of all queues at each second; null where one is unknown. @param {(number | null)[][]} ys */
export const totals = (ys) => (ys[0] ?? []).map((_, at) => ys.reduce((sum, line) => (sum === null || line[at] === null ? null : sum + line[at]), /** @type {number | null} */ (0)));

/** A line as it is drawn: below ten messages its mean over five seconds, since single messages would only flicker. */
export const calm = (line, most) => (most >= CALM_BELOW ? line : line.map((value, at) => {
  if (value === null) return null;
  const before = line.slice(Math.max(0, at - OVER_S + 1), at + 1).filter((other) => other !== null);
  return before.reduce((sum, other) => sum + other, 0) / before.length;
}));

/** Four parts of 100 or 20, five of 50: every tick a whole number. */
function ticks(top) {
  const count = String(top)[0] === "5" || top === 10 ? 5 : 4;
  return Array.from({ length: count + 1 }, (_, i) => (top * i) / count);
}

export class LagChart {
  /** @type {any} */
  #plot = null;
  #keys = "";
  events = [];
  /** @type {(number | null)[][] | null} */
  drawn = null; // the lines as they stand

  /** @param {any} root @param {string | null} group whose findings are bands */
  constructor(root, group) {
    this.root = root;
    this.bands = new Bands(group);
    this.list = el("ol", { class: "bandlist", hidden: "" });
    root.after(this.list);
    this.notes = el("div", { class: "chart-notes", "aria-hidden": "true" });
    new IntersectionObserver((seen, observer) => {
      if (!seen[0].isIntersecting) return;
      observer.disconnect();
      this.#load();
    }).observe(root);
    new ResizeObserver(() => this.#resize()).observe(root);
    new MutationObserver(() => this.#rebuild()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#rebuild());
  }

  #load() {
    document.head.append(el("link", { rel: "stylesheet", href: this.root.dataset.style }));
    const script = el("script", { src: this.root.dataset.script });
    script.onload = () => {
      this.ready = true;
      this.paint();
    };
    document.head.append(script);
  }

  /** An event line with a word; only what explains a bend: crash, reset, rebalance. */
  mark(at_ms, word, plain = false) {
    this.events.push({ at_ms, word, plain });
    if (this.events.length > 12) this.events.shift();
  }

  /** queues: [{key, name, colour (css), hot, values}] oldest first, one per second, ending now. */
  update(queues, now_ms) {
    this.queues = queues;
    this.now_ms = now_ms;
    this.paint();
  }

  paint() {
    if (!this.ready || !this.queues?.length || !this.root.clientWidth) return;
    const keys = this.queues.map((q) => `${q.key}${q.hot ? "!" : ""}${q.colour}`).join();
    if (keys !== this.#keys || !this.#plot) this.#build(keys);
    const x = Array.from({ length: SPAN_S + 1 }, (_, i) => i - SPAN_S);
    const ys = this.queues.map(({ values }) => [...Array(Math.max(0, x.length - values.length)).fill(null), ...values.slice(-x.length)]);
    const lines = [totals(ys), ...ys], most = Math.max(...lines.flat().map((v) => v ?? 0), 1);
    this.#plot.setScale("y", { min: 0, max: niceTop(most) });
    this.drawn = lines.map((line) => calm(line, most));
    this.#plot.setData([x, ...this.drawn], false);
    this.#plot.setScale("x", { min: -SPAN_S, max: 0 });
    this.ys = lines;
  }

  #build(keys) {
    this.#plot?.destroy();
    this.#keys = keys;
    const font = `10px ${token("--mono")}`, stroke = token("--text-3"), grid = { stroke: token("--line"), width: 0.8 };
    const axis = { font, stroke, ticks: { show: false }, grid };
    this.#plot = new uPlot(
      {
        ...this.#room(),
        padding: [8, 34, 0, 0],
        hooks: { draw: [() => this.ys && this.#annotate(this.ys)] }, // positions are known once it has drawn
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, auto: false }, y: { auto: false } },
        axes: [
          { ...axis, size: 20, gap: 4, grid: { show: false }, splits: () => [-300, -240, -180, -120, -60, 0], values: (_, splits) => splits.map((v) => (v === 0 ? t("chart.now") : `−${-v / 60}${v === -300 ? " m" : ""}`)) },
          { ...axis, size: 36, gap: 6, splits: (_, __, min, max) => ticks(max), values: (_, splits) => splits.map((v) => number(Math.round(v))) },
        ],
        series: [{}, { stroke: token("--text"), width: 2.4, points: { show: false }, spanGaps: false }, ...this.queues.map((q) => ({ stroke: q.hot ? token(q.colour) : token("--line-strong"), width: q.hot ? 1.5 : 0.8, points: { show: false }, spanGaps: false }))],
      },
      [[0], [null], ...this.queues.map(() => [null])],
      this.root,
    );
    this.root.append(this.notes);
  }

  #annotate(ys) {
    const plot = this.#plot;
    if (!plot || ys.length !== this.queues.length + 1) return;
    const box = { left: plot.over.offsetLeft, top: plot.over.offsetTop, h: plot.over.clientHeight };
    const nodes = [], used = [];
    const named = [{ name: ys[0].at(-1) === null ? "" : number(ys[0].at(-1)), hot: true, colour: "--text" }, ...this.queues.filter((q) => q.hot).slice(0, 3)];
    named.forEach((q) => {
      const value = this.drawn?.[this.queues.indexOf(/** @type {any} */ (q)) + 1]?.at(-1) ?? null;
      if (value === null) return;
      const x = box.left + plot.valToPos(0, "x"), y = box.top + plot.valToPos(value, "y");
      let line = y;
      while (used.some((u) => Math.abs(u - line) < 12)) line += 4;
      if (line > box.top + box.h + 2) return; // no name stands on the axis
      used.push(line);
      nodes.push(el("i", { style: `left:${x}px;top:${y}px;color:var(${q.colour})` }), el("span", { style: `left:${x + 7}px;top:${line - 6}px;color:var(${q.colour})` }, q.name));
    });
    const plan = bandPlan(this.bands.list, { from_ms: this.now_ms - SPAN_S * 1000, to_ms: this.now_ms, width: plot.over.clientWidth, wordWidth: wordWidthIn(this.root) });
    nodes.push(...bandNodes(plan, box, box.top + 2));
    listBands(this.list, plan);
    let last = null;
    for (const event of this.events) {
      const ago = (event.at_ms - this.now_ms) / 1000;
      if (ago < -SPAN_S || ago > 0) continue;
      const x = box.left + plot.valToPos(ago, "x");
      nodes.push(el("b", { class: event.plain ? "plain" : "", style: `left:${x}px;top:${box.top}px;height:${box.h}px` }));
      if (last === null || x - last > 60) nodes.push(el("span", { class: `why ${event.plain ? "plain" : ""}`, style: `left:${x}px;top:${box.top}px` }, event.word));
      last = x;
    }
    this.notes.replaceChildren(...nodes);
    const worst = this.queues.map((q, i) => [ys[i + 1].at(-1) ?? -1, q.name]).sort((a, b) => b[0] - a[0])[0];
    this.root.setAttribute("aria-label", [t("chart.summary", { queue: worst[1], lag: number(Math.max(0, worst[0])) }), ...plan.map(({ word }) => word)].join(" "));
  }

  #resize() {
    if (!this.#plot || !this.root.clientWidth) return;
    this.#plot.setSize(this.#room());
    this.paint();
  }

  /** The panel without its padding. */
  #room() {
    const style = getComputedStyle(this.root);
    return { width: this.root.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight), height: this.root.clientHeight - parseFloat(style.paddingBottom) };
  }

  #rebuild() {
    this.#plot?.destroy();
    this.#plot = null;
    this.paint();
  }
}

