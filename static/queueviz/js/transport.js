/* The bar at the bottom: freezing the view happens in the browser; rate and step are actions on the sandbox's clock. */
import { $, $$, attr, cls, hide, text } from "./dom.js";
import { clock as clockText, number } from "./format.js";
import { t } from "./words.js";

const APART_MS = 60000; // from here on the sandbox's clock is not taken for the one on the wall
const PAUSE = "M2 1h3v10H2zM7 1h3v10H7z", PLAY = "M2 1l9 5-9 5z";

export class Transport {
  constructor({ live, clock, painter, act }) {
    this.live = live;
    this.clock = clock;
    this.painter = painter;
    this.act = act;
    this.play = $("#play");
    if (!this.play) return;
    this.shape = $("path", this.play);
    this.live_pill = $("#livepill");
    this.now = $("#clock .now");
    this.seq = $("#clock .seq");
    this.wall = $("#clock .wall");
    this.back = $("#back");
    this.reached = $("#reached");
    this.world = $("#world");
    this.play.onclick = () => this.freeze(!painter.frozen);
    this.live_pill.onclick = () => this.freeze(false);
    if (this.world) this.world.onclick = () => this.stopWorld();
    const step = $("#step");
    if (step) step.onclick = () => act({ action: "Step", until: "fact" }, step);
    for (const button of $$("[data-rate]")) button.onclick = () => act({ action: "SetRate", rate: button.dataset.rate }, button);
    live.addEventListener("status", () => this.pill());
    painter.every(() => this.tick());
  }

  freeze(frozen) {
    this.painter.freeze(frozen);
    $(".app").dataset.mode = frozen ? "frozen" : "live";
    attr(this.shape, "d", frozen ? PLAY : PAUSE);
    attr(this.play, "aria-label", t(frozen ? "time.resume" : "time.freeze"));
    this.pill();
  }

  missed(count) {
    if (this.painter.frozen && count) {
      this.painter.missed += count;
      this.pill();
    }
  }

  pill() {
    if (!this.live_pill) return;
    const frozen = this.painter.frozen, stopped = this.clock.rate === 0, { state } = this.live, lost = state !== "connected" && state !== "connecting";
    cls(this.live_pill, "on", !frozen && !stopped && !lost);
    cls(this.live_pill, "plain", frozen || stopped || lost);
    const word = frozen ? (this.painter.missed ? "time.frozen_more" : "time.frozen") : lost ? `time.${state}` : stopped ? "time.stopped" : "time.live";
    text($(".word", this.live_pill), t(word, { n: number(this.painter.missed) }));
  }

  stopWorld() {
    const rate = this.clock.rate === 0 ? (this.before ?? 1) : 0;
    if (rate === 0) this.before = this.clock.rate;
    this.act({ action: "SetRate", rate }, this.world);
  }

  /** A rate that the machine does not carry is said beside the one that was asked for. */
  speed() {
    const { rate, reached } = this.clock, shown = reached !== null && rate > 0;
    hide(this.reached, !shown);
    if (shown) text(this.reached, t("time.reached", { reached: Number(reached.toPrecision(2)), rate }));
  }

  tick() {
    text(this.now, clockText(this.clock.now()));
    if (this.wall) {
      hide(this.wall, Math.abs(this.live.wall_ms - this.clock.now()) < APART_MS);
      text(this.wall, t("time.wall", { at: clockText(this.live.wall_ms, 0, { millis: false }) }));
    }
    if (this.reached) this.speed();
    text(this.seq, t("time.event", { seq: number(this.live.seq) }));
    if (this.back) attr(this.back, "href", `${this.back.pathname}?at=${this.live.seq}`);
    if (this.rate === this.clock.rate) return;
    this.rate = this.clock.rate;
    for (const button of $$("[data-rate]")) attr(button, "aria-pressed", String(Number(button.dataset.rate) === this.rate));
    if (this.world) attr(this.world, "aria-pressed", String(this.rate === 0));
    this.pill();
  }
}
