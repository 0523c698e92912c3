/* Frames: channel `wire/…` onto a table; a row opens its frame below, fields and bytes beside each other. The table holds
   still under the pointer and the keyboard focus, so that no row moves away. */
import { $, $$, around, attr, hide, text } from "./dom.js";
import { FrameBytes } from "./frame_bytes.js";
import { emptyOr, Fields } from "./live_fields.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const table = $("#frames"), box = $("#frame");
const page = startShell({ keys: { ArrowDown: () => step(1), ArrowUp: () => step(-1) } });
const { clock, config } = page;
const fields = new Fields($("#main"), clock);
let held = null, shown = null, latest = null, chosen = null;
if (box) new FrameBytes(box);

if (config.channels.wire) show(page, config.channels.wire, (data) => {
  latest = data;
  paint();
});

const isHeld = () => table && (table.matches(":hover") || table.contains(document.activeElement));

function paint() {
  const frames = latest.frames ?? {};
  held = shown && isHeld() ? (held ?? shown) : null;
  shown = held ?? { ...frames };
  fields.paint({ ...latest, frames: shown });
  for (const link of $$(".links a")) attr(link, "aria-current", link.closest("[data-key]").dataset.key === config.link ? "page" : null);
  const more = held ? Object.keys(frames).filter((no) => !(no in held)).length : 0;
  const said = $("#held");
  if (!said) return;
  hide(said, !more);
  text(said, more ? t("frames.held", { n: more }) : "");
  emptyOr("#frames", "#no-frames", !Object.keys(shown).length);
  for (const button of rows()) {
    attr(button, "data-no", button.closest("[data-key]").dataset.key);
    attr(button, "tabindex", button === (current() ?? rows()[0]) ? "0" : "-1");
  }
}
for (const leaves of ["pointerleave", "focusout"]) table?.addEventListener(leaves, () => latest && setTimeout(paint));

const rows = () => $$(".opens", table);
const current = () => rows().find((button) => button === document.activeElement) ?? rows().find((button) => button.dataset.no === chosen);

function step(by) {
  if (!table || (document.activeElement !== document.body && !$("#main").contains(document.activeElement))) return;
  const all = rows(), at = all.indexOf(current());
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
  next?.focus();
}

document.body.addEventListener("click", ({ target }) => {
  const no = around(target, "[data-no]")?.dataset.no ?? around(target, "#frames [data-key]")?.dataset.key;
  if (no) open(no);
});

function open(no) {
  chosen = no;
  for (const row of $$("tr[data-key]", table)) attr(row, "aria-current", row.dataset.key === no ? "true" : null);
  htmx.ajax("GET", `${config.root}ask/frames/?link=${encodeURIComponent(config.link)}&no=${no}`, { target: box, swap: "innerHTML" });
}
