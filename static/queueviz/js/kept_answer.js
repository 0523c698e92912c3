/* An answer stays in this browser until the server confirms or refuses it: after a lost connection, a reload, in another tab.
   It is sent again with its key, by which the server knows it, so it counts once however often it arrives. */
import { $ } from "./dom.js";

const RETRY_MS = [2000, 16000];
const PLACE = `queueviz:kept ${location.pathname}`;
const FIELDS = ["action", "step", "part", "value", "key", "attempt"];
const TOO_FAST = 429;

export class KeptAnswer {
  /** Where this browser keeps nothing. @type {Record<string, string> | null} */
  #memory = null;
  #wait_ms = RETRY_MS[0];
  #next = 0;
  #sending = false;
  /** Whether it was sent and nothing came back. @type {boolean} */
  troubled = false;

  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.panel = panel;
    this.troubled = this.answer !== null; // of the page before
  }

  /** @returns {Record<string, string> | null} */
  get answer() {
    try {
      return JSON.parse(localStorage.getItem(PLACE) ?? "null");
    } catch {
      return this.#memory;
    }
  }

  /** What htmx is about to send. @param {Record<string, any>} parameters */
  keep(parameters) {
    if (parameters.action !== "AnswerStep") return;
    this.#memory = Object.fromEntries(FIELDS.map((name) => [name, String(parameters[name] ?? "")]));
    this.#sending = true;
    this.#store(JSON.stringify(this.#memory));
  }

  /** True if the server returned a panel for this answer: received, or refused with a reason. */
  settle({ xhr, requestConfig }, isPanel) {
    if (requestConfig.parameters.action !== "AnswerStep") return;
    this.#sending = false;
    if (requestConfig.parameters.key !== this.answer?.key) return;
    if (isPanel && xhr.status < 500 && xhr.status !== TOO_FAST) return this.#forget();
    this.#next = performance.now() + this.#wait_ms;
    this.#wait_ms = Math.min(RETRY_MS[1], this.#wait_ms * 2);
    this.troubled = true;
    this.show();
  }

  /** Whether it is time to try again. */
  get isDue() {
    return this.troubled && !this.#sending && performance.now() >= this.#next;
  }

  /** The connection is back: stop waiting. */
  hurry() {
    this.#wait_ms = RETRY_MS[0];
    this.#next = 0;
  }

  send() {
    const answer = this.answer;
    if (!answer) this.troubled = false; // another tab was faster
    if (!this.isDue || !answer) return;
    htmx.ajax("POST", location.pathname, { source: this.panel, target: this.panel, swap: "morph:innerHTML", values: answer }).catch(() => {}); // `settle` has seen it
  }

  /** In its form, which each fetched panel has anew. */
  show() {
    const answer = this.troubled ? this.answer : null;
    const form = answer && /** @type {HTMLFormElement | null} */ (document.getElementById(`lab-${answer.step}-${answer.part}`));
    if (!form) return;
    /** @type {any} */ (form.elements).value.value = answer.value;
    $("[data-kept]", form).hidden = false;
  }

  #forget() {
    this.#memory = null;
    this.troubled = false;
    this.hurry();
    this.#store(null);
  }

  #store(text) {
    try {
      if (text === null) localStorage.removeItem(PLACE);
      else localStorage.setItem(PLACE, text);
    } catch {
      // it is in memory
    }
  }
}
