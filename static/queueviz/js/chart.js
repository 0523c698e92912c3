/* Lag over five minutes: the total bold, queues thin. uPlot draws lines and axes and is fetched with the first chart;
   names of hot queues, event lines and bands of findings are ours, beside their lines instead of in a legend. */
import { bandNodes, bandPlan, bandRoom, Bands, listBands, wordWidthIn } from "./bands.js";
import { $, el, text } from "./dom.js";
import { duration, number } from "./format.js";
import { calmLines, calmSeconds, nameHeights, totals } from "./lag_lines.js";
import { t } from "./words.js";

const SPAN_S = 300, NAME_PX = 12, LADDER = [1, 2, 5];
const LEAST_OF_A_QUEUE = 5; // messages: the axis of a healthy group makes no mountains of them
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
  /** @type {(number | null)[][] | null} */
  drawn = null; // the lines as they stand
  /** @type {number | null} */
  #at = null; // the second under the pointer

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
    root.addEventListener("pointermove", (event) => this.#point(event.clientX));
    root.addEventListener("pointerleave", () => this.#point(null));
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
    const lines = [totals(ys), ...ys];
    this.drawn = calmLines(ys);
    this.#plot.setScale("y", { min: 0, max: niceTop(Math.max(...this.drawn.flat().map((v) => v ?? 0), LEAST_OF_A_QUEUE * ys.length)) });
    const span = $("#chart-span");
    if (span) text(span, calmSeconds(ys).at(-1) ? t("chart.calm") : span.dataset.words);
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
    const nodes = [], x = box.left + plot.valToPos(0, "x");
    const newest = this.drawn?.[0]?.at(-1) ?? null, lagOf = (q) => ys[this.queues.indexOf(q) + 1].at(-1) ?? -1;
    const hottest = this.queues.filter((q) => q.hot).sort((a, b) => lagOf(b) - lagOf(a)).slice(0, 3);
    const named = [{ name: newest === null ? "" : number(Math.round(newest)), colour: "--text" }, ...hottest]
      .map((line) => ({ ...line, value: this.drawn?.[this.queues.indexOf(/** @type {any} */ (line)) + 1]?.at(-1) ?? null })) // -1: the total
      .filter(({ value }) => value !== null)
      .map((line) => ({ ...line, y: box.top + plot.valToPos(line.value, "y") }));
    const heights = nameHeights(named.map(({ y }) => y), { gap: NAME_PX, top: box.top, bottom: box.top + box.h - NAME_PX / 2 });
    for (const [i, { name, colour, y }] of named.entries()) {
      nodes.push(el("i", { style: `left:${x}px;top:${y}px;color:var(${colour})` }));
      if (heights[i] !== null) nodes.push(el("span", { style: `left:${x + 7}px;top:${heights[i] - NAME_PX / 2}px;color:var(${colour})` }, name));
    }
    nodes.push(...this.#exact(ys, box));
    const plan = bandPlan(this.bands.list, { from_ms: this.now_ms - SPAN_S * 1000, to_ms: this.now_ms, width: plot.over.clientWidth, wordWidth: wordWidthIn(this.root) });
    nodes.push(...bandNodes(plan, box, box.top + 2));
    listBands(this.list, plan);
    const wordTop = box.top + bandRoom(plan); // below the words of findings
    let last = null;
    for (const event of this.events) {
      const ago = (event.at_ms - this.now_ms) / 1000;
      if (ago < -SPAN_S || ago > 0) continue;
      const left = box.left + plot.valToPos(ago, "x");
      nodes.push(el("b", { class: event.plain ? "plain" : "", style: `left:${left}px;top:${box.top}px;height:${box.h}px` }));
      if (last === null || left - last > 60) nodes.push(el("span", { class: `why ${event.plain ? "plain" : ""}`, style: `left:${left}px;top:${wordTop}px` }, event.word));
      last = left;
    }
    this.notes.replaceChildren(...nodes);
    const worst = this.queues.map((q, i) => [ys[i + 1].at(-1) ?? -1, q.name]).sort((a, b) => b[0] - a[0])[0];
    this.root.setAttribute("aria-label", [t("chart.summary", { queue: worst[1], lag: number(Math.max(0, worst[0])) }), ...plan.map(({ word }) => word)].join(" "));
  }

  /** The second under the pointer, with the values as they were: where the line is a mean, too. */
  #exact(ys, box) {
    const at = this.#at, plot = this.#plot, total = at === null ? null : (ys[0][at] ?? null);
    if (at === null || total === null) return [];
    const x = box.left + plot.valToPos(at - SPAN_S, "x"), hot = this.queues.flatMap((q, i) => (q.hot ? [`${q.name} ${number(ys[i + 1][at])}`] : [])).slice(0, 3);
    const words = [t("chart.at", { ago: duration((SPAN_S - at) * 1000), lag: number(total) }), ...hot].join(" · ");
    const place = x - box.left > plot.over.clientWidth / 2 ? "before" : "after";
    return [el("b", { class: "at", style: `left:${x}px;top:${box.top}px;height:${box.h}px` }), el("span", { class: `exact ${place}`, style: `left:${x}px;top:${box.top}px` }, words)];
  }

  #point(client_x) {
    const over = this.#plot?.over;
    if (!over) return;
    const { left, width } = over.getBoundingClientRect(), share = client_x === null ? -1 : (client_x - left) / width;
    this.#at = share < 0 || share > 1 ? null : Math.round(share * SPAN_S);
    if (this.ys) this.#annotate(this.ys);
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

