/* The sandbox's clock between two frames: a moment, the rate, and the age of the last frame. Rings and ages run on it,
   so nothing travels while they shrink. Without frames it stops. */

export class SandboxClock {
  #at = 0;
  #heard = 0;
  #held = false;
  #seq = 0n; // of the newest frame heard
  rate = 1;
  /** @type {number | null} */
  reached = null; // what a busy machine carries of the rate; null: all

  now() {
    return this.#held ? this.#at : this.#at + (performance.now() - this.#heard) * (this.reached ?? this.rate);
  }

  /**
   * A frame's moment. Small differences are network jitter and are eased in, large ones are news. Channels are read one
   * after the other: a reading older than the newest received event does not change the clock.
   * @param {number} at_ms
   * @param {number} [rate]
   * @param {string | null} [seq]
   * @param {number | null} [reached]
   */
  hear(at_ms, rate, seq = null, reached = null) {
    if (rate === undefined) [rate, reached] = [this.rate, this.reached];
    if (seq !== null && BigInt(seq) < this.#seq) return;
    if (seq !== null) this.#seq = BigInt(seq);
    const guess = this.now(), apart = at_ms - guess;
    const eased = !this.#held && rate === this.rate && this.#at > 0 && Math.abs(apart) < 250 * Math.max(1, rate);
    [this.#at, this.#heard, this.#held, this.rate, this.reached] = [eased ? guess + apart * 0.1 : at_ms, performance.now(), false, rate, reached];
  }

  hold() {
    if (!this.#held) [this.#at, this.#held] = [this.now(), true];
  }
}
