/* Findings as bands on a time axis, for the live lag chart and the History page: which are drawn, where their words have
   room, and which have a number there and their words in a list below. */
import { el } from "./dom.js";

const NARROW_PX = 480, ROW_PX = 14, GAP_PX = 8, NUMBER_PX = 14, SHORTEST_PX = 90; // less room would leave one word of four
const MOST_BANDS = 12;
const numeral = (n) => String.fromCharCode(0x245f + n); // ① to ⑫

/** The bands of a group's findings. A finding that another explains, or that nothing is wrong about, has none. */
export class Bands {
  /** @type {{ key: string, since_ms: number, until_ms: number | null, word: string }[]} */
  list = [];

  /** @param {string | null} group @param {any[]} [list] bands of before */
  constructor(group, list = []) {
    this.group = group;
    this.list = list;
  }

  /** @param {any} fact @param {(fact: any) => string} wordOf */
  follow(fact, wordOf) {
    if (fact.group && fact.group !== this.group) return;
    const key = [fact.code, fact.kind, fact.subject, fact.group, fact.topic].join("/");
    const open = this.list.find((band) => band.key === key && band.until_ms === null);
    if (fact.type === "FindingClosed" && open) open.until_ms = Number(fact.at_ms);
    if (fact.type !== "FindingOpened" || fact.severity === "info" || fact.because_of || open) return;
    const since_ms = Number(fact.since_ms);
    if (!this.list.some((band) => band.key === key && band.since_ms === since_ms)) this.list.push({ key, since_ms, until_ms: null, word: wordOf(fact) });
  }
}

/**
 * The newest bands on an axis of `width` pixels. `label` is the word, or a number if the room for it is too small.
 * @param {{ since_ms: number, until_ms: number | null, word: string }[]} bands
 * @param {{ from_ms: number, to_ms: number, width: number, wordWidth: (word: string) => number }} axis
 */
export function bandPlan(bands, { from_ms, to_ms, width, wordWidth }) {
  const px = (ms) => ((Math.min(to_ms, Math.max(from_ms, ms)) - from_ms) / (to_ms - from_ms)) * width;
  const ends = []; // of each row
  const drawn = bands
    .filter((band) => band.since_ms < to_ms && (band.until_ms ?? to_ms) > from_ms)
    .sort((a, b) => a.since_ms - b.since_ms)
    .slice(-MOST_BANDS)
    .map((band) => {
      const left = px(band.since_ms), right = Math.max(left + 2, px(band.until_ms ?? to_ms));
      const free = ends.findIndex((end) => end <= left), row = free < 0 ? ends.length : free;
      ends[row] = Math.max(right, left + NUMBER_PX + GAP_PX);
      return { ...band, left, width: right - left, is_open: band.until_ms === null, row, x: left, room: NUMBER_PX, label: "" };
    });
  const used = []; // of each row, by labels
  let numbers = 0;
  for (const [i, band] of drawn.entries()) {
    const next = drawn.slice(i + 1).find((other) => other.row === band.row);
    const end = next ? next.left - GAP_PX : width, need = wordWidth(band.word);
    const x = Math.max(used[band.row] ?? 0, Math.min(band.left, end - need)), room = Math.min(need, end - x);
    if (width < NARROW_PX || room < Math.min(need, SHORTEST_PX)) {
      band.label = numeral(++numbers);
      band.x = Math.max(0, Math.min(band.left, width - NUMBER_PX));
    } else Object.assign(band, { label: band.word, x, room });
    used[band.row] = band.x + band.room + GAP_PX;
  }
  return drawn;
}

/** Pixels for the words of all rows. */
export const bandRoom = (plan) => ROW_PX * (1 + Math.max(-1, ...plan.map((band) => band.row)));

/** The width of a word in the chart's own type. */
export function wordWidthIn(root) {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  return (word) => {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    pen.font = `600 ${0.6875 * rem}px ${getComputedStyle(root).fontFamily}`;
    return Math.ceil(pen.measureText(word).width) + 1;
  };
}

/** The nodes of a plan. `box`: of the plot in the chart; `top`: of the words' first row. */
export function bandNodes(plan, box, top) {
  return plan.flatMap(({ left, width, is_open, row, x, room, label, word }) => [
    el("em", { class: is_open ? "open" : null, title: word, style: `left:${box.left + left}px;top:${box.top}px;height:${box.h}px;width:${width}px` }),
    el("span", { class: "bandword", title: word, style: `left:${box.left + x}px;top:${top + row * ROW_PX}px;${label === word ? `width:${room}px` : ""}` }, label),
  ]);
}

/** Write the words of the numbers below the chart. */
export function listBands(list, plan) {
  const numbered = plan.filter(({ label, word }) => label !== word), key = numbered.map(({ label, word }) => label + word).join();
  if (list.dataset.drawn === key) return;
  list.dataset.drawn = key;
  list.hidden = !numbered.length;
  list.replaceChildren(...numbered.map(({ label, word }) => el("li", {}, el("b", {}, label), ` ${word}`)));
}
