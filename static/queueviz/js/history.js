/* One lag value per queue and second of the sandbox's clock. The page requests missing seconds from the sandbox, which keeps five
   minutes; for a real cluster they stay unknown, and a reload of the tab keeps the rest. */

import { calm } from "./lag_lines.js";

const KEEP = 600;

class Series {
  values = [];
  version = 0;
  /** The last `n` values as the small curves draw them. */
  calmTail(n) {
    return calm(this.values.slice(-n));
  }
}

export class History {
  series = new Map();
  /** @type {number | null} */
  second = null;
  fresh = true; // found, and drawn by no chart yet
  #key;
  #recent;
  #asking = false;

  /**
   * @param {string} key
   * @param {(() => Promise<any>) | null} [recent] asks for {second, queues: {name: values}}; null without stored values
   */
  constructor(key, recent = null) {
    this.#key = `queueviz:${key}`;
    this.#recent = recent;
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.#key) ?? "null");
      if (kept && Date.now() - kept.saved < 600000) {
        this.second = kept.second;
        for (const [name, values] of Object.entries(kept.series)) this.of(name).values = values;
      }
    } catch {
      /* a private window may refuse storage */
    }
    addEventListener("pagehide", () => this.#save());
    this.fill();
  }

  /** Insert the sandbox's stored values up to its last second before the values noted since then. */
  async fill() {
    if (!this.#recent || this.#asking) return;
    this.#asking = true;
    const kept = await this.#recent().catch(() => null);
    this.#asking = false;
    if (!kept || kept.second === null) return;
    const since = this.second === null ? -1 : this.second - kept.second;
    const own = since > 0 && since <= KEEP ? since : 0;
    if (since < 0 || since > KEEP) this.second = kept.second;
    for (const [name, values] of Object.entries(kept.queues)) {
      const series = this.of(name), newer = own ? series.values.slice(-own) : [];
      series.values = [...values, ...Array(own - newer.length).fill(null), ...newer].slice(-KEEP);
      series.version++;
    }
    this.fresh = true;
  }

  of(name) {
    if (!this.series.has(name)) this.series.set(name, new Series());
    return this.series.get(name);
  }

  /** Returns true when a new second has begun. While the clock stands, its last second has the lag of now. */
  note(now_ms, lags, stands = false) {
    const second = Math.floor(now_ms / 1000);
    const missed = this.second === null ? 1 : second - this.second;
    if (missed === 0 && stands) return this.#renew(lags);
    if (missed < 1 && missed > -60) return false;
    if (missed < 0 || missed > KEEP) this.series.clear();
    if (missed < 0 || missed > 3) this.fill();
    for (const [name, lag] of lags) {
      const series = this.of(name);
      const blank = Math.min(KEEP, Math.max(0, missed - 1));
      // two seconds apart is a slow frame, not a hole
      for (let i = 0; i < blank; i++) series.values.push(blank <= 2 ? (series.values.at(-1) ?? null) : null);
      series.values.push(lag);
      if (series.values.length > KEEP) series.values.splice(0, series.values.length - KEEP);
      series.version++;
    }
    this.second = second;
    return true;
  }

  #renew(lags) {
    const changed = lags.filter(([name, lag]) => this.of(name).values.at(-1) !== lag);
    for (const [name, lag] of changed) {
      const series = this.of(name);
      series.values.splice(-1, 1, lag);
      series.version++;
    }
    return changed.length > 0;
  }

  #save() {
    try {
      const series = Object.fromEntries([...this.series].map(([name, { values }]) => [name, values.slice(-300)]));
      sessionStorage.setItem(this.#key, JSON.stringify({ saved: Date.now(), second: this.second, series }));
    } catch {
      /* as above */
    }
  }
}
