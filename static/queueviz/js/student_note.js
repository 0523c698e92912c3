/* The teacher's note on the student who is open beside the grid. */
import { post } from "./ask.js";
import { $, text } from "./dom.js";
import { t } from "./words.js";

export class StudentNote {
  #form = /** @type {HTMLFormElement} */ ($("#student-note"));
  #field = /** @type {HTMLTextAreaElement} */ ($("#note"));
  #number = "";

  constructor() {
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const number = this.#number, note = this.#field.value;
      await post(`../students/${number}/`, { do: "note", note }, this.#form);
      if (this.#number === number && !$(".refusal", this.#form)) text($(".answer", this.#form), t("grid.note_saved"));
    });
    this.#form.addEventListener("input", () => text($(".answer", this.#form), ""));
  }

  /** Show the stored note; a later reading does not replace what the teacher writes. @param {string} number @param {any} row */
  follow(number, row) {
    if (number === this.#number) return;
    this.#number = number;
    this.#field.value = row.note;
    text($(".answer", this.#form), "");
  }

  close() {
    this.#number = "";
  }
}
