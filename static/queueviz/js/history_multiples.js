/* One small chart for each queue, all on the same axes, with the bands of findings. */
import { attr, el, svg, text } from "./dom.js";
import { clock } from "./format.js";
import { linePath, topOf } from "./history_chart.js";
import { t } from "./words.js";

const W = 200, H = 56; // of a drawing; it is stretched to the width of its column

export class Multiples {
  #figures = new Map(); // by queue

  /** @param {HTMLElement} root @param {HTMLElement} scale the line that says the axes */
  constructor(root, scale) {
    this.root = root;
    this.scale = scale;
  }

  /** @param {{ name: string, points: any[], drawn?: any[] }[]} lines @param {any[]} bands @param {{ from_ms: number, to_ms: number, value: (v: any) => string }} axes */
  paint(lines, bands, { from_ms, to_ms, value }) {
    const top = topOf(lines, from_ms);
    const x = (at) => Math.min(W, Math.max(0, ((at - from_ms) / (to_ms - from_ms)) * W)), y = (v) => 2 + (1 - v / top) * (H - 4);
    const time = (at) => clock(at, 0, { millis: false });
    text(this.scale, t("history.scale", { top: value(top), begin: time(from_ms), end: time(to_ms) }));
    for (const { name, points, drawn } of lines) {
      const figure = this.#figure(name), known = points.filter(([at, v]) => at >= from_ms && v !== null).map(([, v]) => v);
      const newest = value(points.at(-1)?.[1] ?? null), highest = value(known.length ? Math.max(...known) : null);
      text(figure.newest, newest);
      attr(figure.picture, "aria-label", t("history.queue", { name, value: newest, highest }));
      const shown = bands.filter((band) => (band.until_ms ?? to_ms) > from_ms);
      figure.picture.replaceChildren(
        ...shown.map((band) => svg("rect", { class: "band", x: x(band.since_ms), width: Math.max(1, x(band.until_ms ?? to_ms) - x(band.since_ms)), y: 0, height: H })),
        svg("path", { class: "grid", d: `M0 ${H - 2}H${W}` }),
        svg("path", { class: "line", d: linePath(drawn ?? points, from_ms, x, y) }),
      );
    }
  }

  #figure(name) {
    if (!this.#figures.has(name)) {
      const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img" }), newest = el("span", { class: "num" });
      this.root.append(el("figure", {}, el("figcaption", {}, el("b", { class: "mono" }, name), newest), picture));
      this.#figures.set(name, { picture, newest });
    }
    return this.#figures.get(name);
  }
}
