/* A frame's fields and its bytes: pointing at one lights up the other; a click keeps it lit. */
import { $$, cls } from "./dom.js";

export class FrameBytes {
  #kept = null;

  constructor(box) {
    this.box = box;
    const at = ({ target }) => this.#light(this.#partOf(target) ?? this.#kept);
    for (const name of ["pointerover", "focusin"]) box.addEventListener(name, at);
    box.addEventListener("pointerleave", () => this.#light(this.#kept));
    box.addEventListener("click", ({ target }) => {
      const part = this.#partOf(target);
      if (part === null) return;
      this.#kept = part === this.#kept ? null : part;
      this.#light(part);
      this.#bring(target, part);
    });
    document.body.addEventListener("htmx:afterSwap", ({ detail }) => detail.target === box && (this.#kept = null));
  }

  /** The field of a row, or the innermost one a byte lies in. */
  #partOf(target) {
    return target.closest("[data-part]")?.dataset.part ?? target.closest("[data-in]")?.dataset.in.split(" ").at(-1) ?? null;
  }

  #light(part) {
    for (const row of $$("[data-part]", this.box)) cls(row, "lit", row.dataset.part === part);
    for (const run of $$("[data-in]", this.box)) cls(run, "lit", part !== null && run.dataset.in.split(" ").includes(part));
  }

  /** The other side comes into sight. */
  #bring(target, part) {
    const other = target.closest("[data-part]") ? this.box.querySelector(`[data-in~="${part}"]`) : this.box.querySelector(`[data-part="${part}"]`);
    other?.scrollIntoView({ block: "nearest" });
  }
}
