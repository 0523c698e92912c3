/* The connection pill and the bar below the top bar: status, age of the data, time of the next attempt. */
import { reload } from "./address.js";
import { $, attr, el, hide, text } from "./dom.js";
import { duration, number, remaining } from "./format.js";
import { t } from "./words.js";

const POLL_AFTER_MS = 60000, POLL_MS = 5000;
const TONE = { connecting: "plain", connected: "ok", opening: "warn", catching: "warn", stale: "warn", offline: "warn", asleep: "warn", ended: "warn" };
const STILL = ["offline", "opening", "asleep", "ended"]; // nothing can be done to what is not there

export class Pill {
  #polled = 0;
  lost = el("div", { class: "banner", role: "alert" });
  why = el("span");

  constructor(live, painter) {
    this.live = live;
    this.painter = painter;
    this.root = $("#conn");
    this.app = $(".app");
    this.notice = $("#notice");
    if (!this.root) return;
    this.word = $(".word", this.root);
    this.figures = $(".figures", this.root);
    const button = el("button", { class: "btn sm", type: "button" }, t("conn.try"));
    this.lost.append(this.why, button);
    this.lost.hidden = true;
    button.onclick = () => (live.state === "ended" ? reload() : live.tryNow());
    this.notice.append(this.lost);
    for (const event of ["status", "beat"]) live.addEventListener(event, () => this.paint());
    live.addEventListener("woken", () => this.#stillness?.remove());
  }

  paint() {
    const { live } = this, status = live.state;
    attr(this.app, "data-conn", status);
    attr(this.root, "class", `pill ${TONE[status]}`);
    text(this.word, status === "stale" ? t("conn.stale", { age: duration(live.quiet_ms) }) : t(`conn.${status}`));
    text(this.figures, status === "connected" && live.latency_ms !== null ? t("conn.rate", { fps: live.fps, ms: live.latency_ms }) : "");
    if (live.watchers !== null && $("#watchers")) text($("#watchers"), live.watchers > 1 ? t("watchers", { n: live.watchers }) : "");
    const asleep = $("#t-asleep");
    if (status === "asleep" && asleep && !this.#stillness) this.notice.append(asleep.content.cloneNode(true));
    else if (live.moves) this.#stillness?.remove();
    this.#banner(status);
    for (const control of document.querySelectorAll("[data-needs-live]")) attr(control, "aria-disabled", STILL.includes(status) ? "true" : null);
  }

  /** The server's banner over a stopped sandbox, with the button if the visitor may use it. */
  get #stillness() {
    return $("[data-still]", this.notice);
  }

  #banner(status) {
    hide(this.lost, status !== "offline" && (status !== "ended" || this.#stillness !== null));
    if (status === "ended") return text(this.why, t(`end.${this.live.ended}`));
    if (status !== "offline") return;
    const wait = this.live.retry_at === null ? 0 : Math.max(0, this.live.retry_at - performance.now());
    const values = { seq: number(this.live.seq), age: duration(this.live.quiet_ms), wait: remaining(wait) };
    text(this.why, this.live.code === 4408 ? t("conn.slow") : t(wait > 300 ? "conn.lost" : "conn.lost_now", values));
    if (this.live.lost_ms > POLL_AFTER_MS && performance.now() - this.#polled > POLL_MS) {
      this.#polled = performance.now();
      document.body.dispatchEvent(new CustomEvent("queueviz:poll"));
    }
  }
}
