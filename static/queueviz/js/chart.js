/* Lag by queue over five minutes. uPlot draws lines and axes and is fetched with the first chart; names of hot queues and
   event lines are ours, beside their lines instead of in a legend. */
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

  constructor(root) {
    this.root = root;
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
    const top = niceTop(Math.max(...ys.flat().map((v) => v ?? 0), 1));
    this.#plot.setScale("y", { min: 0, max: top });
    this.#plot.setData([x, ...ys], false);
    this.#plot.setScale("x", { min: -SPAN_S, max: 0 });
    this.ys = ys;
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
        series: [{}, ...this.queues.map((q) => ({ stroke: q.hot ? token(q.colour) : token("--line-strong"), width: q.hot ? 2 : 1, points: { show: false }, spanGaps: false }))],
      },
      [[0], ...this.queues.map(() => [null])],
      this.root,
    );
    this.root.append(this.notes);
  }

  #annotate(ys) {
    const plot = this.#plot;
    if (!plot || ys.length !== this.queues.length) return;
    const box = { left: plot.over.offsetLeft, top: plot.over.offsetTop, h: plot.over.clientHeight };
    const nodes = [], used = [];
    this.queues.forEach((q, i) => {
      const value = ys[i].at(-1);
      if (!q.hot || value === null) return;
      const x = box.left + plot.valToPos(0, "x"), y = box.top + plot.valToPos(value, "y");
      let line = y;
      while (used.some((u) => Math.abs(u - line) < 12)) line += 4;
      used.push(line);
      nodes.push(el("i", { style: `left:${x}px;top:${y}px;color:var(${q.colour})` }), el("span", { style: `left:${x + 7}px;top:${line - 6}px;color:var(${q.colour})` }, q.name));
    });
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
    const worst = this.queues.map((q, i) => [ys[i].at(-1) ?? -1, q.name]).sort((a, b) => b[0] - a[0])[0];
    this.root.setAttribute("aria-label", t("chart.summary", { queue: worst[1], lag: number(Math.max(0, worst[0])) }));
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

