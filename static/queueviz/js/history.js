/* One lag value per queue and second of the sandbox's clock, for sparklines and the chart; survives a reload of the tab.
   Seconds nobody watched stay unknown. */

const KEEP = 600;

class Series {
  values = [];
  version = 0;
  tail(n) {
    return this.values.slice(-n);
  }
}

export class History {
  series = new Map();
  second = null;
  #key;

  constructor(key) {
    this.#key = `queueviz:${key}`;
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.#key));
      if (kept && Date.now() - kept.saved < 600000) {
        this.second = kept.second;
        for (const [name, values] of Object.entries(kept.series)) this.of(name).values = values;
      }
    } catch {
      /* a private window may refuse storage */
    }
    addEventListener("pagehide", () => this.#save());
  }

  of(name) {
    if (!this.series.has(name)) this.series.set(name, new Series());
    return this.series.get(name);
  }

  /** Returns true when a new second has begun. */
  note(now_ms, lags) {
    const second = Math.floor(now_ms / 1000);
    const missed = this.second === null ? 1 : second - this.second;
    if (missed < 1 && missed > -60) return false;
    if (missed < 0 || missed > KEEP) this.series.clear();
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

  #save() {
    try {
      const series = Object.fromEntries([...this.series].map(([name, { values }]) => [name, values.slice(-300)]));
      sessionStorage.setItem(this.#key, JSON.stringify({ saved: Date.now(), second: this.second, series }));
    } catch {
      /* as above */
    }
  }
}
