/* Connect: channel `connect/…` onto the page's rows; stations of a connection are ticked off as they come. */
import { reload } from "./address.js";
import { $, $$, around, cls, hide, text } from "./dom.js";
import { emptyOr, Fields } from "./live_fields.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const COPIED_MS = 2000;
const page = startShell(), { clock, config, painter } = page;
const fields = new Fields($("#main"), clock);
const opened = $("#port-state [data-f]")?.textContent;

if (config.channels.connect) show(page, config.channels.connect, paint);
painter.every(() => fields.data && fields.tick());

function paint(data) {
  fields.paint(data);
  for (const cell of $$("#connections .st")) cls(cell, "done", Boolean(valueOf(cell)));
  for (const row of $$("#connections tr[data-key]")) cls(row, "ended", Boolean(data.connections?.[row.dataset.key]?.ended_ms));
  emptyOr("#connections", "#no-connections", !Object.keys(data.connections ?? {}).length);
  emptyOr("#clients", "#no-clients", !Object.keys(data.clients ?? {}).length);
  hide($("#refused"), !Object.keys(data.refused ?? {}).length);
  if (opened !== undefined && $("#port-state [data-f]").textContent !== opened) reload(); // another user opened or closed the port
}

const valueOf = (cell) => {
  const field = $("[data-f]", cell);
  return field._row?.[field.dataset.f];
};

document.body.addEventListener("click", async ({ target }) => {
  const button = around(target, "[data-clip]");
  if (!button) return;
  const label = button.textContent;
  await navigator.clipboard?.writeText($(`#${CSS.escape(button.dataset.clip)}`).textContent).catch(() => {});
  text(button, t("connect.copied"));
  setTimeout(() => text(button, label), COPIED_MS);
});
