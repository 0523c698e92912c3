/* The teacher's note on the student who is open beside the grid. */
import { post } from "./ask.js";
import { $, text } from "./dom.js";
import { t } from "./words.js";

export class StudentNote {
  #form = /** @type {HTMLFormElement} */ ($("#student-note"));
  #field = /** @type {HTMLTextAreaElement} */ ($("#note"));
  #number = "";
  /** @type {string | null} */
  #stored = null; // as the newest reading has it: after a save, for two seconds, the old one
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

  /** Begin with this student; the note comes with the next reading. @param {string} number */
  open(number) {
    if (number === this.#number) return;
    this.#number = number;
    this.#stored = null;
    this.#isEdited = false;
    this.#field.value = "";
    text($(".answer", this.#form), "");
  }

  /** Show the stored note; no reading, not even the first, replaces what the teacher writes. @param {string} note */
  follow(note) {
    if (note === this.#stored) return;
    this.#stored = note;
    if (!this.#isEdited) this.#field.value = note;
  }

  close() {
    this.#number = "";
  }
}
