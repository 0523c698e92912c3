/* The reset dialog on the Board: its form comes from the server when it is opened. */
import { el } from "./dom.js";
import { startReset } from "./reset.js";

/** False where the form could not be had. */
export async function openResetDialog(dialog, { config, live, clock, board }) {
  const styled = style(dialog.dataset.style), query = new URLSearchParams({ group: config.group ?? "", topic: config.topic ?? "" });
  dialog.replaceChildren(); // what it showed before is no answer
  await htmx.ajax("GET", `${config.root}part/reset-dialog/?${query}`, { target: dialog, swap: "innerHTML" }).catch(() => {});
  await styled;
  if (!dialog.firstElementChild) return false;
  if (!dialog.open) dialog.showModal();
  startReset(dialog, { config, live, clock, board, done: () => dialog.close() });
  return true;
}

/** Its styles are not part of the first view. */
function style(href) {
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  const link = el("link", { rel: "stylesheet", href });
  return new Promise((done) => {
    link.onload = link.onerror = done;
    document.head.append(link);
  });
}
