/* Forecast of queue moves if a member joins or leaves, computed by the real strategy before the click. */
import { $, text } from "./dom.js";
import { t } from "./words.js";

const WAIT_MS = 400;

/** What a forecast rests on: the members and their states, the strategy, and whose each queue is. A member that crashes or
    hangs stays on the page as a card, and its queues go to others. @returns {string} */
export function basis({ header, queues, members }) {
  const states = Object.entries(members ?? {}).map(([id, member]) => `${id} ${member.state}`);
  const owners = Object.entries(queues ?? {}).map(([key, row]) => `${key} ${row.assigned ?? ""} ${row.owner ?? ""}`);
  return [header?.strategy ?? "", header?.model ?? "", ...states.sort(), "", ...owners.sort()].join("\n");
}

export class Forecast {
  #timer = 0;
  /** @type {string | null} */
  #basis = null;
  /** @type {any} */
  #add = null;

  constructor({ config, lanes, cards, runs }) {
    this.runs = runs;
    this.config = config;
    this.lanes = lanes;
    this.cards = cards;
    this.label = $("#add-forecast");
    this.button = $("#add");
    const show = () => this.#add && lanes.forecast(this.#add, t("forecast.lane", { n: this.#add.moves, m: this.#add.of }));
    const clear = () => lanes.clearForecast();
    for (const [event, fn] of [["pointerenter", show], ["focus", show], ["pointerleave", clear], ["blur", clear], ["click", clear]]) this.button?.addEventListener(event, fn);
    cards.box.addEventListener("pointerover", ({ target }) => this.#leaving(target.closest("[data-act='RemoveActor'], [data-act='StopActor']")));
    cards.box.addEventListener("pointerout", ({ target }) => target.closest("[data-act]") && clear());
    document.body.addEventListener("queueviz:asking", ({ detail }) => detail.name === "strategy" && this.#strategies(detail.form));
  }

  /** With each new state: the words on the button are asked again once what they rest on has changed, and is quiet. */
  renew(data) {
    const { header } = data, now = this.label ? basis(data) : null;
    if (now === this.#basis) return;
    this.#basis = now;
    clearTimeout(this.#timer);
    if (header?.model === "BROADCASTING") return; // every member reads every queue: no queue moves
    this.#timer = setTimeout(async () => {
      const plan = await this.#ask({ add: 1 });
      if (now !== this.#basis) return; // it is asked again
      this.#add = plan;
      if (this.label) text(this.label, this.#add ? t("forecast", { n: this.#add.moves, m: this.#add.of }) : "");
    }, WAIT_MS);
  }

  async #leaving(button) {
    const actor = button?.closest("[data-actor]")?.dataset.actor;
    if (!actor) return;
    const plan = await this.#ask({ remove: actor });
    if (plan && button.matches(":hover")) this.lanes.forecast(plan, t("forecast.lane", { n: plan.moves, m: plan.of }));
  }

  #strategies(form) {
    const say = async () => {
      const plan = await this.#ask({ strategy: form.elements.strategy.value });
      if (plan) text($("[data-forecast]", form), t("forecast", { n: plan.moves, m: plan.of }));
    };
    form.addEventListener("change", say);
    say();
  }

  async #ask(change) {
    const { root, group, topic } = this.config;
    if (!group || !topic || !this.runs()) return null;
    try {
      const answer = await fetch(`${root}ask/plan-rebalance/?${new URLSearchParams({ group, topic, ...change })}`);
      if (!answer.ok) return null;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      return JSON.parse($("[data-plan]", page).dataset.plan);
    } catch {
      return null; // a forecast that cannot be had is not missed
    }
  }
}
