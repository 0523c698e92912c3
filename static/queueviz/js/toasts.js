/* Lines in the corner: at most two, each for 12 s of the viewer's time, whatever the sandbox's clock does. The pointer or
   the focus on a line holds it. A line that still waits for what follows is hidden, and comes back with a new text. */
import { $$, hide } from "./dom.js";

const SHOWN_MS = 12000, MOST = 2, EVERY_MS = 500;
/** @type {Map<Element | string, number>} */
const ages_ms = new Map(); // of a line that the server renews, by its action and text
let timer = 0;

const keyOf = (line) => (line.dataset.seq ? `${line.dataset.seq} ${line.textContent.trim()}` : line);
const isWaiting = (line) => line.matches(".followed:not([data-state])");
const isHeld = (line) => line.matches(":hover, :focus-within");

/** Lines come from htmx too, so the corner is observed. */
export const setUpToasts = (corner) => corner && new MutationObserver(arrange).observe(corner, { childList: true });

function arrange() {
  for (const line of $$("#toasts > .followed[data-state]")) if (line.dataset.state !== "done") line.remove(); // nothing follows
  const lines = $$("#toasts > .toast").filter((line) => line.textContent.trim());
  for (const line of lines) if (age(line) >= lasts(line)) leave(line);
  const shown = lines.filter((line) => line.isConnected && !line.hidden);
  for (const line of shown.slice(0, -MOST)) if (!isHeld(line)) leave(line);
  clearInterval(timer);
  timer = shown.length ? setInterval(grow, EVERY_MS) : 0;
}

function grow() {
  for (const line of $$("#toasts > .toast:not([hidden])")) if (!isHeld(line)) ages_ms.set(keyOf(line), age(line) + EVERY_MS);
  arrange();
}

const age = (line) => ages_ms.get(keyOf(line)) ?? 0;
const lasts = (line) => Number(line.dataset.lasts ?? SHOWN_MS);

function leave(line) {
  if (isWaiting(line)) return void (ages_ms.set(keyOf(line), lasts(line)), hide(line, true));
  ages_ms.delete(keyOf(line));
  line.remove();
}
