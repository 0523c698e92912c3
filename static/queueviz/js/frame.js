/* The paint schedule: all updates once per animation frame; values that depend on time ten times a second. */
import { step } from "./motion.js";

const TICK_MS = 100, EARLY_MS = 25, LATE_MS = 10;

export class Painter {
  frozen = false;
  missed = 0;
  cost_ms = 0; // script time of the last painted frame, for tests
  #dirty = new Map();
  #ticks = [];
  #last = 0;
  #asked = false;
  #timer = 0;

  constructor() {
    this.#wait(TICK_MS);
  }

  /** Paint this channel with the next frame; later news of the same channel joins it. */
  mark(channel, paint, jump) {
    this.#dirty.set(channel, { paint, jump: jump || (this.#dirty.get(channel)?.jump ?? false) });
    this.request();
  }

  every(fn) {
    this.#ticks.push(fn);
  }

  freeze(frozen) {
    this.frozen = frozen;
    this.missed = 0;
    if (!frozen) {
      for (const todo of this.#dirty.values()) todo.jump = true; // resume is one paint, no fast-forward
      this.request();
    }
  }

  request() {
    if (this.#asked || document.hidden) return;
    this.#asked = true;
    requestAnimationFrame((at) => this.#paint(at));
  }

  /** Frames come ten times a second too: the tick waits a moment for the next one, so that both are one paint. */
  #wait(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#wait(TICK_MS);
      this.request();
    }, ms);
  }

  #paint(at) {
    this.#asked = false;
    if (this.frozen) return;
    const begun = performance.now();
    const due = [...this.#dirty];
    this.#dirty.clear();
    for (const [channel, { paint, jump }] of due) paint(channel, jump);
    if (at - this.#last >= TICK_MS - EARLY_MS) {
      this.#last = at;
      this.#wait(due.length ? TICK_MS + LATE_MS : TICK_MS - LATE_MS);
      for (const tick of this.#ticks) tick();
    }
    step();
    if (due.length) this.cost_ms = performance.now() - begun;
  }
}
