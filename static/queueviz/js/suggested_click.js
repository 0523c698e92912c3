/* The suggested click of the first page: crash a member of the demo, then restart it. What follows is said in the line
   below, from the engine's own answer. The button keeps its size: both of its labels share one cell. */
import { $, $$, attr, el, hide, text } from "./dom.js";
import { remaining } from "./format.js";
import { t } from "./words.js";

const VERBS = { running: "CrashActor", crashed: "RestartActor", stopped: "RestartActor" };
const OWN_MS = 5000;


export class SuggestedClick {
  /** @type {any} */
  #member = null;
  #crashed_at = -Infinity; // by this visitor, of the page's time

  constructor({ act, clock, live }) {
    this.clock = clock;
    this.live = live;
    this.button = $("#try-crash");
    this.actor = this.button.dataset.actor;
    this.returns_ms = Number(this.button.dataset.returnsMs);
    this.settled_ms = Number(this.button.dataset.settledMs);
    this.note = $("#try-note");
    this.said = $("#try-said");
    this.awaited = $("#try-awaited");
    this.button.addEventListener("click", () => {
      if (this.button.getAttribute("aria-disabled") !== "true") act({ action: this.verb, actor: this.actor }, this.button);
    });
    document.body.addEventListener("queueviz:acted", ({ target }) => target === this.button && this.#acted());
    setInterval(() => this.#tick(), 500);
  }

  /** What the next click does. */
  get verb() {
    return this.button.dataset.verb;
  }

  paint(members) {
    const member = Object.values(members).find(({ actor }) => actor === this.actor) ?? null;
    const before = this.#member?.state, now = member?.state;
    this.#member = member;
    if (before === "running" && now === "crashed" && performance.now() - this.#crashed_at > OWN_MS) this.say(t("home.crashed_by_other", { who: this.actor }));
    attr(this.button, "aria-disabled", now in VERBS ? null : "true"); // it starts, or is not there
    if (now in VERBS) this.#show(VERBS[now]);
    this.#tick();
  }

  /** A sentence that is known at once. */
  say(line) {
    this.#crashed_at = -Infinity;
    this.said.replaceChildren(el("p", {}, line));
    this.#tick();
  }

  #acted() {
    const crashed = this.verb === "CrashActor";
    this.#crashed_at = crashed ? performance.now() : -Infinity;
    this.said.replaceChildren(el("p", {}, t(crashed ? "home.crashed" : "home.restarts", { who: this.actor }))); // until the engine's answer
    if (this.live.status !== "connected") this.#show(crashed ? "RestartActor" : "CrashActor"); // no picture will say it
    this.#tick();
  }

  #show(verb) {
    attr(this.button, "data-verb", verb);
    for (const label of $$("[data-label]", this.button)) attr(label, "data-off", label.dataset.label === verb ? null : "");
  }

  /** Countdowns. */
  #tick() {
    const member = this.#member, gone = member?.state === "crashed" && this.live.status === "connected";
    text(this.note, gone ? t("home.returns", { left: remaining(member.state_since_ms + this.returns_ms - this.clock.now()) }) : t("home.real"));
    const rest = this.#crashed_at + this.settled_ms - performance.now(), waits = rest > 0 && !$(".followed[data-state]", this.said);
    hide(this.awaited, !waits);
    if (waits) text(this.awaited, t($(".followed span", this.said) ? "home.counted" : "home.awaited", { left: remaining(rest) }));
  }
}
