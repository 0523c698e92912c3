/* Requests for the past: cached states at events, one request at a time (the newest wins), rows of the journal. */

const KEPT = 240;
const APART_MS = 60; // the server answers 20 states a second
const FACTS = 10_000; // on the line, the newest
const PAGE = 1000;

export const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** The server's reason for an event that it cannot show. */
export class Refused extends Error {}

export class States {
  /** @type {Map<number, any>} */
  #kept = new Map();
  #asked = 0;

  /** @param {any} [first] a state that is known already */
  constructor(api, first = null) {
    this.api = api;
    if (first) this.keep(Number(first.seq), first);
  }

  keep(seq, answer) {
    this.#kept.delete(seq);
    this.#kept.set(seq, answer);
    if (this.#kept.size > KEPT) this.#kept.delete(/** @type {number} */ (this.#kept.keys().next().value));
    return answer;
  }

  has(seq) {
    return this.#kept.has(seq);
  }

  async at(seq) {
    const kept = this.#kept.get(seq);
    if (kept) return this.keep(seq, kept);
    const now = performance.now(), wait = this.#asked + APART_MS - now;
    this.#asked = now + Math.max(0, wait);
    if (wait > 0) await pause(wait);
    const answer = await fetch(`${this.api}/state?at=${seq}`);
    if (!answer.ok) throw new Refused((await answer.json()).error);
    return this.keep(seq, await answer.json());
  }

  /** Rows of the journal before `before`, newest first. */
  async rows({ before, most, show = "all" }) {
    const answer = await fetch(`${this.api}/journal?${new URLSearchParams({ show, before: String(before), most: String(most) })}`);
    if (!answer.ok) throw new Error(`the journal answered ${answer.status}`);
    return answer.json();
  }

  async row(seq) {
    return (await this.rows({ before: seq + 1, most: 1 })).rows.find((row) => Number(row.seq) === seq) ?? null;
  }

  /** What can be executed again, and the first event with a state. */
  async line() {
    const answer = await fetch(`${this.api}/stretches`);
    if (!answer.ok) throw new Error(`the stretches answered ${answer.status}`);
    const { stretches, keyframe } = await answer.json();
    return { stretches: stretches.map((one) => ({ ...one, from: Number(one.from), to: Number(one.to) })), keyframe: keyframe === null ? null : Number(keyframe) };
  }

  /** Every fact up to `last`, oldest first, page by page: `heard(facts, first, end)`; `end`: nothing older is left. */
  async facts(last, heard) {
    const facts = [];
    let before = last + 1;
    while (facts.length < FACTS) {
      const found = await this.rows({ before, most: PAGE, show: "told" });
      facts.unshift(...found.rows.map((row) => ({ ...row, seq: Number(row.seq), at_ms: Number(row.at_ms) })).reverse());
      before = found.before === null ? null : Number(found.before);
      heard(facts, Number(found.first_seq), before === null);
      if (before === null) return;
    }
  }
}

/** Calls with the newest value only, one at a time. */
export function newestWins(work) {
  let wanted = null, busy = false;
  return async (value) => {
    wanted = { value };
    if (busy) return;
    busy = true;
    while (wanted) {
      const { value: mine } = wanted;
      wanted = null;
      await work(mine, () => wanted !== null);
    }
    busy = false;
  };
}
