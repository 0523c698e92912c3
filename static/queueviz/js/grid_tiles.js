/* Tiles of a course's grid: kept in place, written only where something changed. Tiles move only on request. */
import { $$, attr, el, svg, text } from "./dom.js";
import { duration } from "./format.js";
import { t, valueWord } from "./words.js";

export const NEED = ["stuck", "asking", "cut", "idle", "waiting", "working", "done"];
const AGE_MS = 10_000; // ages go on in these steps: a class of sixty that counts seconds cannot be read
const WINDOW = 100; // messages that each strip shows: all of all tiles, so that bars compare
const WIDTH = 200, HIGH = 6, GAP = 2;
const GLYPHS = {
  stuck: "M5 .5h5L14.5 5v5L10 14.5H5L.5 10V5z", asking: "M1 1h13v9H8l-4 4v-4H1z", idle: "M7.5.5a7 7 0 1 0 .01 0zM7 3h1.4v4.4l3 1.8-.7 1.1L7 8.2z",
  working: "M4 2l8 5.5L4 13z", done: "M7.5.5a7 7 0 1 0 .01 0zM6.6 11L3.4 7.8l1-1 2.2 2.2 4-4 1 1z", cut: "M1 6h5V4.5h-5zM9 10.500h5V9H9zM11 1l1.200 1.200-9 11L2 12z",
  waiting: "M3 7.500a1.300 1.300 0 1 0 .01 0zM7.500 7.500a1.300 1.300 0 1 0 .01 0zM12 7.500a1.300 1.300 0 1 0 .01 0z",
};

export const glyph = (state) => {
  const drawn = svg("svg", { class: `glyph ${state}`, viewBox: "0 0 15 15", "aria-hidden": "true" });
  drawn.append(svg("path", { d: GLYPHS[state] ?? GLYPHS.waiting }));
  return drawn;
};

/** The sum of its queues' lags; null if one is unknown. */
export const behind = (row) => row.strips.reduce((sum, strip) => (sum === null || strip.startsWith("-") ? null : sum + Number(strip.split("/")[0])), 0);

/** The state, and since when in the words of the house. @param {any} row @param {number} now_ms */
export const stateWords = (row, now_ms) => {
  const state = t(`grid.${row.state}`), age = row.since_ms === null ? 0 : Math.floor((now_ms - row.since_ms) / AGE_MS) * AGE_MS;
  return age > 0 ? t("grid.since", { state, age: duration(age) }) : state;
};

/** What is wrong in the sandbox, or else what its student does, in a few words; empty where nothing is known. */
export const findingWords = (row) => {
  if (row.finding) return `${row.finding.subject}: ${valueWord(row.finding.code)}`;
  if (row.state === "waiting") return t("grid.joined");
  return row.shown && row.phase && row.phase !== "done" ? t(`grid.phase.${row.sealed ? "sealed" : row.phase}`) : "";
};

/** What the teacher's newest broadcast did here. */
export const effectWords = (row) => {
  if (!row.effect) return "";
  const did = t(`grid.effect.${row.effect.kind}`, row.effect);
  return row.effect.again ? t("grid.effect.again", { did }) : did;
};

export const differsWhy = (differs) => t("grid.differs_why", { ...differs, state: t(`state.${differs.state}`), usual: t(`state.${differs.usual}`) });

export function drawStrips(drawn, strips) {
  const key = strips.join(" ");
  if (drawn.dataset.key === key) return;
  drawn.dataset.key = key;
  attr(drawn, "viewBox", `0 0 ${WIDTH} ${Math.max(1, strips.length) * (HIGH + GAP)}`);
  attr(drawn, "preserveAspectRatio", "none");
  drawn.replaceChildren(...strips.flatMap((strip, at) => strip_(strip, at * (HIGH + GAP))));
}

/** `lag/cells/colour`, the newest message at the right end. */
function strip_(strip, y) {
  const [lag, cells, colour] = strip.split("/"), px = WIDTH / WINDOW;
  const rect = (name, from, to) => svg("rect", { class: name, x: Math.max(0, WIDTH - from * px), y, width: Math.max(0, Math.min(WIDTH, from * px) - to * px), height: HIGH });
  if (lag === "-") return [svg("rect", { x: 0, y, width: WIDTH, height: HIGH, fill: "url(#p-unknown)" })];
  const back = Number(lag), parts = [rect("committed", WINDOW, Math.min(WINDOW, back))], all = rect("behind", Math.min(WINDOW, back), 0);
  if (back) parts.push(all);
  let at = back;
  for (const [, count, kind] of (cells === "-" ? "" : cells).matchAll(/(\d+)([dpb])/g)) {
    const to = Math.max(0, at - Number(count));
    if (at > 0) parts.push(rect({ d: "finished", p: "processing", b: "buffered" }[kind], Math.min(WINDOW, at), to));
    at = to;
  }
  const row = svg("g", { class: colour === "-" ? "" : `me-${colour}` });
  row.append(...parts, svg("path", { class: "end", d: `M${WIDTH - 0.7} ${y}v${HIGH}` }));
  return [row];
}

export class Tiles {
  tiles = new Map();
  /** @type {Map<string, string>} by student: why the newest broadcast was not done there */
  refused = new Map();

  /**
   * @param {HTMLElement} root
   * @param {(number: string) => void} open
   * @param {(row: any, number: string) => string} named what a student is called on this page
   * @param {import("./grid_selection.js").Selection} selection
   */
  constructor(root, open, named, selection) {
    this.root = root;
    this.named = named;
    this.selection = selection;
    for (const node of $$(".tile", root)) this.tiles.set(node.dataset.number, node);
    root.addEventListener("click", ({ target, shiftKey, ctrlKey, metaKey }) => {
      const tile = target instanceof Element ? target.closest(".tile") : null;
      if (!(tile instanceof HTMLElement)) return;
      const number = tile.dataset.number ?? "";
      if (shiftKey) selection.reach(number, this.#visible().map((node) => node.dataset.number));
      else if (ctrlKey || metaKey) selection.toggle(number);
      else open(number);
    });
    root.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // it would select text
    root.addEventListener("keydown", (event) => this.#keys(event, open));
  }

  paint(rows, now_ms, shown) {
    for (const [number, node] of this.tiles) if (!rows[number]) node.remove(), this.tiles.delete(number);
    for (const [number, row] of Object.entries(rows)) this.#tile(number, row, now_ms, shown);
    attr(this.root, "data-few", this.tiles.size <= 6);
  }

  /** New students come at the end. */
  #tile(number, row, now_ms, shown) {
    let node = this.tiles.get(number);
    if (!node) {
      node = el("article", { class: "tile card", "data-number": number, tabindex: "0" }, el("header", {}, el("b", { class: "who" })), el("p", { class: "word" }));
      this.tiles.set(number, node);
      this.root.append(node);
    }
    const header = node.querySelector("header"), chosen = this.selection.has(number);
    attr(node, "data-selected", chosen ? "" : null);
    if (chosen !== Boolean(header.querySelector(".tick"))) chosen ? header.prepend(el("b", { class: "tick", "aria-hidden": "true" }, "✓")) : header.querySelector(".tick").remove();
    if (node.dataset.state !== row.state || !header.querySelector(".glyph")) {
      header.querySelector(".glyph")?.remove();
      header.querySelector(".who").before(glyph(row.state));
    }
    attr(node, "data-state", row.state);
    const name = this.named(row, number);
    text(header.querySelector(".who"), name);
    this.#far(header, row);
    let drawn = node.querySelector(".strips");
    if (!drawn) header.after((drawn = svg("svg", { class: "strips", "aria-hidden": "true" })));
    drawStrips(drawn, row.strips);
    const words = stateWords(row, now_ms), refused = this.refused.get(number);
    text(node.querySelector(".word"), row.acts ? t("grid.acts", { who: row.acts }) : row.frozen ? `${words} · ${t("grid.frozen")}` : words);
    this.#line(node, "finding", findingWords(row), row.finding?.severity ?? null);
    this.#line(node, "effect", refused ? t("grid.effect.refused", { why: refused }) : effectWords(row), null);
    this.#chip(node, row.differs);
    const where = row.lab ? t("grid.step", { lab: row.lab, step: row.step, steps: row.steps }) : "", lag = behind(row);
    const queues = row.strips.length && lag !== null ? t("grid.strips", { n: row.strips.length, lag }) : "";
    const said = [name, chosen ? t("grid.is_selected") : "", words, findingWords(row), effectWords(row), where, queues, row.differs ? differsWhy(row.differs) : ""];
    attr(node, "aria-label", said.filter(Boolean).join(", "));
    node.hidden = Boolean(shown && shown !== row.state && !chosen);
  }

  #line(node, name, words, severity) {
    const line = node.querySelector(`.${name}`);
    if (!words) return line?.remove();
    const shown = line ?? node.insertBefore(el("p", { class: name }), node.querySelector(".word").nextSibling);
    attr(shown, "data-severity", severity);
    text(shown, words);
  }

  #chip(node, differs) {
    const chip = node.querySelector(".differs");
    if (!differs) return chip?.remove();
    const shown = chip ?? node.appendChild(el("span", { class: "differs num" }));
    text(shown, t("grid.differs", differs));
    attr(shown, "title", differsWhy(differs));
  }

  #far(header, row) {
    const key = `${row.lab}/${row.step}/${row.steps}/${row.state}`;
    if (header.dataset.far === key) return;
    header.dataset.far = key;
    header.querySelector(".far")?.remove();
    if (!row.lab) return;
    const dots = Array.from({ length: row.steps }, (_, at) => el("i", { class: at + 1 < row.step || row.state === "done" ? "met" : at + 1 === row.step ? "now" : "" }));
    header.append(el("span", { class: "far", "aria-hidden": "true" }, row.lab, ...dots));
  }

  /** How many tiles another order would move. */
  moves(rows) {
    const now = [...this.root.children], then = this.#order(rows);
    return now.filter((node, at) => node !== then[at]).length;
  }

  sort(rows) {
    const moved = this.moves(rows), held = document.activeElement;
    this.root.append(...this.#order(rows));
    if (held instanceof HTMLElement) held.focus({ preventScroll: true });
    return moved;
  }

  #order(rows) {
    const need = (node) => NEED.indexOf(rows[node.dataset.number]?.state);
    return [...this.root.children].map((node, at) => ({ node, at })).sort((a, b) => need(a.node) - need(b.node) || a.at - b.at).map(({ node }) => node);
  }

  #visible() {
    return $$(".tile:not([hidden])", this.root);
  }

  #keys(event, open) {
    const tile = event.target.closest?.(".tile");
    if (!tile) return;
    if (event.key === "Enter") {
      event.preventDefault(); // the focus goes to a button, which this key would press
      return open(tile.dataset.number);
    }
    if ([" ", "x"].includes(event.key.toLowerCase()) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      return this.selection.toggle(tile.dataset.number);
    }
    const all = this.#visible(), at = all.indexOf(tile);
    const columns = getComputedStyle(this.root).gridTemplateColumns.split(" ").length;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (!by) return;
    event.preventDefault();
    all[at + by]?.focus();
  }
}
