/* Exact past boards from the recording of the run: made by the server once, then read by ranges. The result is null
   if there is none yet, or none at all. */
import { Recording } from "./recording.js";
import { pause } from "./replay_states.js";

const ASK_EVERY_MS = 1000;

/** The newest event of the part that can be executed again, which begins at the first; -1: there is no such part. */
export function endOf(stretches, newest, most) {
  const [first] = stretches;
  return first?.reproducible ? Math.min(first.to, newest, first.from + most - 1) : -1;
}

export class ExactBoards {
  /** @type {Recording | null} */
  #recording = null;
  #asked = false;
  last = -1;

  /** @param {string} api @param {{ group: string, topic: string }} shown @param {{ heard: (progress: number) => void, ready: () => void, failed: (why: string) => void }} says */
  constructor(api, { group, topic }, says) {
    this.api = api;
    this.channel = `board/${encodeURIComponent(group)}/${encodeURIComponent(topic)}`;
    this.says = says;
  }

  /** Up to which event, as soon as it is known. What was made before for an event as new serves again. */
  reach(last, seq) {
    const made = Number(sessionStorage.getItem(this.api) ?? -1);
    this.last = seq <= made && made < last ? made : last;
  }

  /**
   * The board at an event: `{seq, at_ms, board}` of the newest frame that is not after it. Of a fact, whose time is known, the
   * frame at the end of its millisecond, if there is one: it shows what the fact says.
   * @param {number} seq @param {number} [fact_ms]
   */
  async at(seq, fact_ms) {
    if (seq > this.last) return null;
    if (!this.#asked) void this.#make();
    const recording = this.#recording;
    if (!recording || seq < recording.about.seq[0]) return null;
    try {
      const before = await recording.at(seq), then = fact_ms === undefined || before.seq === seq ? before : await recording.atTime(fact_ms);
      const frame = then.at_ms === fact_ms && then.seq > seq ? then : before, board = frame.state.channels[this.channel];
      return board ? { seq: frame.seq, at_ms: frame.at_ms, board: { ...board, queues: board.queues ?? {}, members: board.members ?? {} } } : null;
    } catch {
      this.#recording = null; // evicted by later requests
      this.#asked = false;
      return null;
    }
  }

  async #make() {
    this.#asked = true;
    let range = `from=0&to=${this.last}`;
    try {
      for (;;) {
        const answer = await fetch(`${this.api}/recording?${range}`, { headers: { Range: "bytes=0-0" } });
        if (answer.status === 202) {
          const { progress, from, to } = await answer.json();
          range = `from=${from}&to=${to}`;
          this.says.heard(progress);
          await pause(ASK_EVERY_MS);
        } else if (answer.ok) break;
        else return this.says.failed((await answer.json()).error);
      }
      this.#recording = await Recording.open(`${this.api}/recording?${range}`);
      sessionStorage.setItem(this.api, String(this.last));
      this.says.ready();
    } catch {
      this.says.failed("");
    }
  }
}
