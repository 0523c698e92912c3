/* The message under the cursor; a click explains its zone and the source of the number. Loaded with its
   texts at the first hover of a strip. */
import { $, $$, around, el, hide, text } from "./dom.js";
import { number } from "./format.js";
import { parts } from "./names.js";
import { larger, offset, readTo, runs } from "./offsets.js";
import { scale } from "./scale.js";
import { isUntold } from "./strip_plan.js";

const REST_MS = 200;

export async function setUpPeek({ rows, board, window: size, config }) {
  const words = await fetch(`${config.root}part/peek/`).then((answer) => (answer.ok ? answer.text() : ""));
  if (words) new Peek(el("div", { class: "peek", role: "status", hidden: "" }), words, { rows, board, size, config });
}

class Peek {
  #timer = 0;
  /** @type {string | null} */
  shown = null;
  #held = false;

  constructor(box, words, { rows, board, size, config }) {
    this.box = box;
    this.rows = rows;
    this.board = board;
    this.size = size;
    this.config = config;
    box.innerHTML = words;
    document.body.append(box);
    const over = ({ target, clientX, clientY }) => !this.#held && this.#point(target.closest("#rows qv-strip"), clientX, clientY);
    const grid = this.rows.box;
    grid.addEventListener("pointermove", over);
    grid.addEventListener("pointerleave", () => this.#held || this.#close());
    grid.addEventListener("click", ({ target, clientX, clientY }) => {
      this.#held = false;
      this.#held = this.#point(target.closest("#rows qv-strip"), clientX, clientY, true);
    });
    addEventListener("keydown", ({ key }) => key === "Escape" && this.#close());
    document.addEventListener("click", ({ target }) => around(target, "#rows, .peek") || this.#close());
  }

  /** Show what lies there; explained once it was clicked. True while something is shown. */
  #point(strip, x, y, explain = false) {
    const key = strip?.closest(".q").dataset.queue, row = key && this.board()?.queues[key];
    if (!row || row.max === null) return this.#close();
    const at = messageAt(strip, x, row, this.size());
    if (at === null) return this.#close();
    const mark = markAt(strip, x, y, row, this.size()), zone = mark ?? zoneOf(row, at.offset);
    text($("[data-offset]", this.box), `${at.about ? "≈ " : ""}${number(at.offset)}`);
    for (const line of $$("[data-zone]", this.box)) hide(line, line.dataset.zone !== zone);
    for (const more of $$(".more", this.box)) hide(more, !explain && !mark);
    const shown = `${key} ${mark ?? ""}${at.offset}`;
    if (this.shown !== shown) {
      this.shown = shown;
      $(".found", this.box).replaceChildren();
      clearTimeout(this.#timer);
      if (!mark && zone !== "deleted" && zone !== "unread" && zone !== "end") this.#timer = setTimeout(() => this.#ask(key, at.offset, shown), REST_MS);
    }
    hide(this.box, false);
    this.#place(x, strip.getBoundingClientRect());
    return true;
  }

  async #ask(key, at, shown) {
    const { broker, id } = parts(key), query = new URLSearchParams({ topic: this.config.topic, broker, queue_id: id, offset: at });
    const answer = await fetch(`${this.config.root}ask/read-entry/?${query}`).catch(() => null);
    if (!answer?.ok || this.shown !== shown) return;
    $(".found", this.box).innerHTML = await answer.text();
  }

  #place(x, strip) {
    const { offsetWidth: w, offsetHeight: h } = this.box;
    const below = strip.bottom + 4 + h < innerHeight;
    this.box.style.left = `${Math.max(8, Math.min(innerWidth - w - 8, x - w / 2))}px`;
    this.box.style.top = `${below ? strip.bottom + 4 : strip.top - h - 4}px`;
  }

  #close() {
    clearTimeout(this.#timer);
    this.#held = false;
    this.shown = null;
    hide(this.box, true);
    return false;
  }
}

/** The scale read backwards. In the compressed history one pixel is many messages: the answer is about right there. */
export function messageAt(strip, clientX, row, window) {
  const box = strip.getBoundingClientRect(), min = offset(row.min) ?? 0n, max = offset(row.max), x = clientX - box.left;
  const s = scale({ min, max, window, width: box.width, compact: box.width < 260 });
  if (max === null || max === 0n || x > s.right + 4) return null;
  if (x >= s.left || s.whole) {
    const back = BigInt(Math.max(0, Math.ceil((s.right - x) / s.px)));
    return { offset: String(max - back < 0n ? 0n : max - back), about: s.px < 1 };
  }
  if (x < s.deleted) return { offset: String(min > 0n ? min - 1n : 0n), about: true };
  const share = Math.min(1, (x - s.deleted) / (s.history - s.deleted));
  return { offset: String(min + BigInt(Math.round(Number(s.lo - min) * share))), about: true };
}

const REACH = 7, TRACK = 9; // px: of a mark, and of half a track with its edge

/** The mark under the pointer: above the track what the client knows, below it what is committed, at its ends min and max. */
function markAt(strip, clientX, clientY, row, window) {
  const box = strip.getBoundingClientRect(), min = offset(row.min) ?? 0n, max = offset(row.max), x = clientX - box.left;
  const s = scale({ min, max, window, width: box.width, compact: box.width < 260 });
  const above = clientY - box.top - box.height / 2, near = (at) => Math.abs(x - at) <= REACH;
  const stands = (name) => row[name] !== null && row[name] !== undefined && near(Math.min(s.x(offset(row[name])), s.right));
  if (above < -TRACK) return row.owner && stands("next_pull") && !(row.in_memory !== row.committed && above > -TRACK - 6 && stands("in_memory")) ? "next" : row.in_memory !== row.committed && stands("in_memory") ? "memory" : null;
  if (above > TRACK) return row.committed === null ? (near(s.left) ? "none" : null) : stands("committed") ? "committed" : null;
  return near(s.right + 3) && x > s.right - 1 ? "ends" : null;
}

/** Which state the message is in; the names are those of the words on the page. */
export function zoneOf(row, at) {
  const here = BigInt(at), min = offset(row.min) ?? 0n, max = offset(row.max), committed = offset(row.committed), memory = offset(row.in_memory), next = offset(row.next_pull);
  const read = readTo(row);
  if (here < min) return read !== null && here >= read ? "unread" : (heldState(row, here, "pb") ?? "deleted");
  if (max === null || here >= max) return "end";
  if (committed !== null && here < committed) return "done";
  if (row.oldest && here === offset(row.oldest.offset)) return "pinned";
  if (memory !== null && here < memory) return "risk";
  const held = heldState(row, here);
  if (held) return held;
  const pulled = row.owner ? (next ?? larger(memory, committed)) : larger(memory, committed);
  if (pulled === null || isUntold(row)) return "unknown";
  return here >= pulled ? "lag" : "finished";
}

/** The state of a message in a member's memory, if it is one of `states`; null: no member has it. */
function heldState(row, here, states = "dpb") {
  let from = offset(row.cells_from ?? row.in_memory);
  for (const [state, count] of runs(row.cells)) {
    if (from === null) break;
    if (here >= from && here < from + BigInt(count)) return states.includes(state) ? { d: "finished", p: "working", b: "waiting" }[state] : null;
    from += BigInt(count);
  }
  return null;
}
