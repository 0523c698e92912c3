/* Notes of a link as rows of an event and a text; the field that is sent has one a line, `#18402 Who will take q6?`. */
import { $, $$, around, el, hide } from "./dom.js";
import { t } from "./words.js";

const NOTE = /^#?(\d{1,18})\s+(.+)$/;

export class Notes {
  /** @param {HTMLElement} element @param {HTMLTextAreaElement} field @param {() => number} at the event of a new note */
  constructor(element, field, at) {
    this.field = field;
    this.rows = el("ul", { class: "noterows" });
    const add = el("button", { class: "btn sm", type: "button" }, t("share.add_note"));
    element.append(this.rows, add);
    for (const line of field.value.split("\n")) {
      const [, seq, said] = NOTE.exec(line.trim()) ?? [];
      if (seq) this.#add(seq, said);
    }
    hide(/** @type {HTMLElement} */ (field.parentElement), true);
    hide(element, false);
    add.addEventListener("click", () => $("[data-said]", this.#add(String(at()), "")).focus());
    this.rows.addEventListener("input", () => this.#write());
    this.rows.addEventListener("click", ({ target }) => {
      if (!around(target, "button")) return;
      around(target, "li").remove();
      this.#write();
      add.focus();
    });
  }

  /** `{seq, text}` of those that have both. */
  get notes() {
    return $$("li", this.rows).map((row) => ({ seq: Number($("[data-at]", row).value), text: $("[data-said]", row).value.trim() })).filter(({ seq, text }) => Number.isSafeInteger(seq) && text);
  }

  #add(seq, said) {
    const row = el("li", {},
      el("input", { class: "inp num", inputmode: "numeric", pattern: "[0-9]{1,18}", "aria-label": t("share.note_at"), value: seq, "data-at": "" }),
      el("input", { class: "inp", maxlength: "400", "aria-label": t("share.note"), value: said, "data-said": "" }),
      el("button", { class: "btn sm", type: "button", "aria-label": t("share.remove_note") }, "✕"));
    this.rows.append(row);
    return row;
  }

  #write() {
    this.field.value = this.notes.map(({ seq, text }) => `#${seq} ${text}`).join("\n");
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
