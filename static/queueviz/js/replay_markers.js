/* The markers of an incident above the Board: the marker of the event and its text. */
import { $, $$, around, attr, hide } from "./dom.js";

/** Of an event: the newest marker that is not after it; null: it lies before the first. Pure, for tests/drawings. */
export function markerAt(seqs, seq) {
  return seqs.findLast((one) => one <= seq) ?? null;
}

export class Markers {
  /** @param {(seq: number) => void} onGo */
  constructor(onGo) {
    this.root = $("#incident");
    this.links = this.root ? $$("a[data-seq]", this.root) : [];
    this.notes = this.links.map((link) => ({ seq: Number(link.dataset.seq), text: link.textContent.trim().replace(/\s+/g, " ") }));
    this.root?.addEventListener("click", (event) => {
      const link = around(event.target, "a[data-seq]");
      if (!link || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      onGo(Number(link.dataset.seq));
    });
  }

  show(seq) {
    const at = markerAt(this.notes.map((note) => note.seq), seq);
    for (const link of this.links) attr(link, "aria-current", Number(link.dataset.seq) === at ? "step" : null);
    if (this.root) for (const said of $$("[data-note]", this.root)) hide(said, Number(said.dataset.note) !== at);
  }
}
