/* The teacher's note on the student who is open beside the grid. */
import { post } from "./ask.js";
import { $, text } from "./dom.js";
import { t } from "./words.js";

export class StudentNote {
  #form = /** @type {HTMLFormElement} */ ($("#student-note"));
  #field = /** @type {HTMLTextAreaElement} */ ($("#note"));
  #number = "";
  #stored = ""; // as the newest reading has it: after a save, for two seconds, the old one
  #isEdited = false;

  constructor() {
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const number = this.#number, note = this.#field.value;
      await post(`../students/${number}/`, { do: "note", note }, this.#form);
      if (this.#number !== number || $(".refusal", this.#form)) return;
      this.#isEdited = this.#field.value !== note;
      text($(".answer", this.#form), t("grid.note_saved"));
    });
    this.#form.addEventListener("input", () => {
      this.#isEdited = true;
      text($(".answer", this.#form), "");
    });
  }

  /** Show the stored note; a later reading does not replace what the teacher writes. @param {string} number @param {any} row */
  follow(number, row) {
    const isOther = number !== this.#number;
    if (isOther) {
      this.#number = number;
      this.#isEdited = false;
      text($(".answer", this.#form), "");
    }
    if (!isOther && row.note === this.#stored) return;
    this.#stored = row.note;
    if (!this.#isEdited) this.#field.value = row.note;
  }

  close() {
    this.#number = "";
  }
}
