/* <qv-strip>: one queue as a number line. The server reserves the space; this draws, keeps its nodes and writes changes. */
import { $$, attr, calm, svg, text } from "./dom.js";
import { fade, glide } from "./motion.js";
import { LABELS, LAYERS, planStrip } from "./strip_plan.js";
import { pinnedAfterMs } from "./words.js";

/** @type {WeakMap<Element, { width: number, height: number }>} */
const sizes = new WeakMap();
const observer = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    sizes.set(target, { width: Math.round(contentRect.width), height: Math.round(contentRect.height) });
    if (target instanceof QvStrip) target.resized();
  }
});
let shared = 100;
let rem = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
new MutationObserver(() => (rem = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16)).observe(document.documentElement, { attributes: true });

export class QvStrip extends HTMLElement {
  /** @type {any} */
  #svg = null;
  /** @type {any} */
  #nodes = null;
  /** @type {[any, any, { label: string | null }] | null} */
  #last = null;
  /** @type {{ committed?: string | null, x?: number | null }} */
  #at = {};

  connectedCallback() {
    observer.observe(this);
    this.drawGiven();
  }

  disconnectedCallback() {
    observer.unobserve(this);
  }

  resized() {
    if (this.#last) this.draw(...this.#last);
  }

  /** The server's attributes: data-row, data-options, data-label. o: values shared by several strips. */
  drawGiven(o = {}) {
    const { row, options = "{}", label = null } = this.dataset;
    if (row) this.draw(JSON.parse(row), { ...JSON.parse(options), ...o }, { label });
  }

  /**
   * @param {any} row a row of the board channel
   * @param {any} o see planStrip, without the sizes
   * @param {{ jump?: boolean, label?: string | null }} [how]
   */
  draw(row, o, { jump = true, label = null } = {}) {
    label ??= this.#last?.[2].label ?? null; // said before the size was known
    this.#last = [row, o, { label }];
    const size = sizes.get(this);
    if (!size || size.width < 40) return;
    if (!this.#nodes) this.#build();
    attr(this.#svg, "viewBox", `0 0 ${size.width} ${size.height}`);
    if (label !== null) attr(this.#svg, "aria-label", label);
    const plan = planStrip(row, { compact: size.width < 260, now_ms: 0, pin_ms: pinnedAfterMs, window: shared, ...o, ...size, k: rem });
    for (const name of LAYERS) attr(this.#nodes[name], "d", plan.paths[name] || null);
    attr(this.#nodes.halo, "d", plan.paths.pin || null);
    for (const name of LABELS) this.#label(this.#nodes[name], plan.texts[name]);
    this.#moves(row, plan.at, jump);
  }

  #label(node, label) {
    attr(node, "visibility", label ? null : "hidden");
    if (!label) return;
    attr(node, "x", label[0]);
    attr(node, "y", label[1]);
    attr(node, "text-anchor", label[2]);
    text(node, label[3]);
  }

  /** The pin moves to each new commit; a reset moves it visibly and leaves a ghost. */
  #moves(row, at, jump) {
    const before = this.#at;
    this.#at = { committed: row.committed, x: at.committed };
    if (jump || before.committed === undefined || before.committed === row.committed || calm()) return;
    if (before.x === null || at.committed === null || before.committed === null || row.committed === null) return;
    const back = BigInt(row.committed) < BigInt(before.committed);
    if (back) this.#ghost();
    const { pin, stem, halo } = this.#nodes, way = (before.x ?? 0) - at.committed;
    glide(pin, back ? 600 : 240, (left) => {
      for (const node of [pin, stem]) attr(node, "transform", left ? `translate(${(way * left).toFixed(1)})` : null);
    });
    fade(halo, 900, (left) => attr(halo, "stroke-opacity", 0.9 * left));
  }

  #ghost() {
    const ghost = svg("path", { class: "ghost", d: this.#nodes.pin.getAttribute("d") ?? "" });
    this.#svg.append(ghost);
    ghost.animate([{ opacity: 0.6 }, { opacity: 0.6, offset: 0.9 }, { opacity: 0 }], { duration: 5000 }).finished.then(() => ghost.remove());
  }

  #build() {
    this.#svg = this.appendChild(svg("svg", { class: "s", role: "img" }));
    /** @type {Record<string, SVGElement>} */
    const nodes = (this.#nodes = {});
    for (const name of LAYERS) nodes[name] = svg("path", { class: name });
    nodes.halo = svg("path", { class: "halo", "stroke-opacity": 0 });
    for (const name of LABELS) nodes[name] = svg("text", { class: name });
    this.#svg.append(...Object.values(nodes));
  }
}

customElements.define("qv-strip", QvStrip);

/** The window of all strips of the page; who is drawn with its frame need not be drawn for it. */
export function shareWindow(messages) {
  if (messages === shared) return;
  shared = messages;
  for (const strip of $$("qv-strip[data-row]")) strip.resized();
}

/** A morph must not undo our drawing: a strip takes the new numbers and keeps its nodes. */
if (window.Idiomorph)
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, fresh) => {
    if (!(old instanceof QvStrip) || !(fresh instanceof Element)) return true;
    for (const name of ["data-row", "data-options", "data-label"]) if (fresh.hasAttribute(name)) old.setAttribute(name, fresh.getAttribute(name) ?? "");
    old.drawGiven();
    return false;
  };
