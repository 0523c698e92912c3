/* Plays a recording: the Board's own strips, lanes and cards, and a timeline under them. `part` selects the drawn parts. */
import { Cards } from "./consumer_cards.js";
import { $, $$, around, attr, calm, el, hide, text } from "./dom.js";
import { number } from "./format.js";
import { Lanes } from "./lanes.js";
import { QueueRows } from "./queue_rows.js";
import { queueRows } from "./queue_table.js";
import { Recording } from "./recording.js";
import { windowFor } from "./scale.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { Timeline, writeMoment } from "./timeline.js";
import { t, valueWord } from "./words.js";

const BOARD = "board/";
const SPEEDS = [1, 2, 5, 20];
const ALL_FACTS = 20; // chunks; of longer recordings the index alone is read
const EMPTY = { version: 0, values: [], calmTail: () => [] };

/**
 * @param {HTMLElement} element holds the markup of partials/player.html
 * @param {{ url?: string, bytes?: Uint8Array<ArrayBuffer>, from?: number, to?: number, at?: number, part?: string, failed?: (error: unknown) => void, notes?: { seq: number, text: string }[] }} o
 */
export async function openPlayer(element, o) {
  const recording = await (o.bytes ? Recording.of(o.bytes) : Recording.open(o.url ?? ""));
  const [begins, ends] = recording.about.seq;
  const first = Math.max(begins, o.from ?? begins), last = Math.min(ends, o.to ?? ends);
  const player = new Player(element, recording, { ...o, first, last }), seq = Math.max(first, Math.min(last, o.at ?? first));
  await player.begin(seq);
  await player.reading(async () => {
    const facts = recording.seqs.length <= ALL_FACTS ? await recording.facts(first, last) : (await recording.index()).filter(({ seq: one }) => first <= one && one <= last);
    player.timeline.extend(facts, last);
    player.say();
  });
  return player;
}

class Player {
  /** @type {{ seq: number, text: string }[]} */
  notes = [];
  seq = 0;
  now = 0;
  /** @type {number | null} */
  #frame = null; // of the browser, while it plays
  #asked = 0;
  /** @type {any} */
  shown = null;

  /** @param {HTMLElement} element @param {Recording} recording @param {any} o */
  constructor(element, recording, { first, last, part = "board", notes = [], failed }) {
    this.element = element;
    this.recording = recording;
    this.first = first;
    this.last = last;
    this.notes = notes;
    this.failed = failed;
    attr(element, "data-part", part);
    const board = $("[data-board]", element);
    this.board = board;
    this.rows = new QueueRows($("[data-rows]", board), $("template[data-row]", element), { onSelect: () => this.#paint(true) });
    this.cards = new Cards($("[data-cards]", board), $("template[data-card]", element), null);
    this.lanes = new Lanes($("svg.lanes", board), board, this.rows, this.cards);
    this.captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));
    this.timeline = new Timeline($("[data-timeline]", element), { facts: [], first, last, onChange: (seq) => this.#seek(seq), onPlay: () => this.toggle(), who: (id) => this.#who(id) });
    $("[data-play]", element).addEventListener("click", () => this.toggle());
    $("[data-speed]", element).replaceChildren(...SPEEDS.map((speed) => el("option", { value: String(speed) }, `${speed}×`)));
    $("[data-table]", element).addEventListener("click", ({ currentTarget }) => {
      attr(currentTarget, "aria-expanded", String($("[data-twin]", element).hidden));
      hide($("[data-twin]", element), !$("[data-twin]", element).hidden);
      this.#twin();
    });
    element.addEventListener("keydown", (event) => {
      if (!event.defaultPrevented && !around(event.target, "select, button, [data-twin]") && this.timeline.key(event)) event.preventDefault();
    });
  }

  async begin(seq) {
    const keyframe = await this.recording.keyframe(Math.max(seq, this.recording.about.seq[0]));
    this.#show(keyframe, Math.max(this.first, keyframe.seq), true);
    if (!this.#asked) await this.set(seq);
  }

  /** Show an event; of several quick calls the last one counts. */
  set(seq) {
    const asked = ++this.#asked;
    return this.reading(async () => {
      const frame = await this.recording.at(Math.max(seq, this.recording.about.seq[0]));
      if (asked === this.#asked) this.#show(frame, seq, true);
    });
  }

  reading(work) {
    return work().catch((error) => {
      this.pause();
      this.failed(error);
    });
  }

  #seek(seq) {
    this.pause();
    return this.set(seq);
  }

  toggle() {
    if (this.#frame === null) this.play();
    else this.pause();
  }

  /** At the pace of the sandbox's clock, times the speed chosen; from the beginning when it stands at the end. */
  play() {
    if (this.#frame !== null) return;
    let before = performance.now(), busy = false;
    const step = async (at) => {
      this.#frame = requestAnimationFrame(step);
      if (busy) return;
      busy = true;
      const moved = this.now + (at - before) * Number($("[data-speed]", this.element).value);
      before = at;
      await this.reading(async () => {
        const frame = await this.recording.atTime(moved);
        if (this.#frame === null) return;
        const seq = Math.min(this.last, frame.seq), note = this.notes.find((one) => this.seq < one.seq && one.seq <= seq);
        if (frame.seq !== this.shown?.seq || frame.at_ms !== this.shown.at_ms) this.#show(frame, note?.seq ?? seq, false);
        this.now = moved;
        if (note || seq >= this.last || frame.last) this.pause();
      });
      busy = false;
    };
    this.#frame = requestAnimationFrame((at) => {
      before = at;
      if (this.seq < this.last) this.#frame = requestAnimationFrame(step);
      else void this.set(this.first).then(() => this.#frame !== null && (this.#frame = requestAnimationFrame(step)));
    });
    this.#button(true);
  }

  pause() {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    this.#frame = null;
    this.#button(false);
  }

  #button(plays) {
    const button = $("[data-play]", this.element);
    attr(button, "aria-label", t(plays ? "player.pause" : "player.play"));
    attr(button, "data-plays", String(plays));
    this.lanes.hold(!plays || calm());
  }

  #show(frame, seq, jump) {
    this.shown = frame;
    [this.seq, this.now] = [seq, frame.at_ms];
    this.timeline.set(seq);
    writeMoment($("[data-moment]", this.element), seq, frame.at_ms);
    this.say();
    this.#choices(Object.keys(frame.state.channels).filter((name) => name.startsWith(BOARD)));
    this.#paint(jump);
  }

  say() {
    text($("[data-fact]", this.element), this.factAt(this.seq));
    text($("[data-open]", this.element), this.#open());
  }

  /** The findings that are open at this event: the fact that opens one has its severity. */
  #open() {
    const open = {};
    for (const { seq, subject, code, severity } of this.timeline.facts) if (code && subject && seq <= this.seq) open[`${subject}: ${valueWord(code)}`] = severity;
    const names = Object.keys(open).filter((name) => open[name]).join("; ");
    return names && t("player.open", { names });
  }

  /** The note at this event, else the newest fact, in words. */
  factAt(seq) {
    const fact = this.timeline.factAt(seq), note = this.notes.findLast((one) => one.seq <= seq && seq - one.seq < 5);
    return note ? note.text : fact ? this.timeline.say(fact) : "";
  }

  /** A recording may hold several boards. */
  #choices(names) {
    const box = $("[data-boards]", this.element), known = $$("option", box).map(({ value }) => value);
    if (names.join() !== known.join()) box.replaceChildren(...names.map((name) => el("option", { value: name }, name.split("/").slice(1).map(decodeURIComponent).join(" · "))));
    hide(box, names.length < 2);
    box.onchange ??= () => this.#paint(true);
  }

  #paint(jump) {
    const data = this.shown?.state.channels[$("[data-boards]", this.element).value];
    hide($("[data-none]", this.element), Boolean(data));
    if (!data) return;
    data.queues ??= {};
    data.members ??= {};
    const rowsMoved = this.rows.sync(data.queues), moved = this.cards.sync(data.members) || rowsMoved;
    if (moved) this.lanes.watchCards();
    attr(this.board, "data-orderly", data.header?.listener === "orderly");
    const window = (this.window = Math.max(windowFor(Object.values(data.queues).map(reach).filter((lag) => lag !== null)), jump ? 0 : (this.window ?? 0)));
    shareWindow(window);
    text($("[data-window]", this.element), t("strip.head", { n: number(window) }));
    this.data = data;
    this.rows.paint(data, { now: this.now, captions: this.captions, jump, history: { of: () => EMPTY } });
    this.cards.paint(data, this.now, this.rows.shorts);
    if (moved || !this.lanes.size) requestAnimationFrame(() => this.lanes.layout());
    this.lanes.paint(data, jump);
    this.#twin();
  }

  /** The table that says what is drawn. */
  #twin() {
    const box = $("[data-twin]", this.element);
    if (box.hidden || !this.data) return;
    $("tbody", box).replaceChildren(...queueRows(this.data));
  }

  #who(id) {
    return this.data?.members[id]?.letter ?? String(id).split("#")[0];
  }
}
