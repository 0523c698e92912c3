/* The keyboard. Letters are off inside fields and dialogs, and can be turned off altogether (WCAG 2.1.4). */
import { $, $$, around, hide } from "./dom.js";

const OFF = "queueviz:letters";
const letters = () => localStorage.getItem(OFF) !== "off";

/** actions: what a page adds, by key name as in `event.key` (letters in lower case, `Shift+T` with its modifier); what is returned may be added to. */
export function setUpKeys(actions) {
  const all = { ...actions };
  for (const [i, tab] of $$(".tabs a").entries()) all[String((i + 1) % 10)] ??= () => tab.click();
  document.body.addEventListener("queueviz:asking", ({ target, detail }) => detail.name === "help" && explain(target, all));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (around(event.target, "input, select, textarea, [contenteditable]")) return;
    const name = keyName(event);
    const single = name.length === 1 && /[a-z.,]/i.test(name);
    if (!(name in all) || (single && !letters())) return;
    const pressing = around(event.target, "button, a, summary");
    if ((name === " " || name === "Enter") && pressing) return;
    event.preventDefault();
    all[name](event);
  });
  return all;
}

/** The list names what works on this page, and nothing else. */
function explain(dialog, all) {
  for (const line of $$("[data-keys]", dialog)) hide(line, !(line.dataset.keys in all) && line.dataset.keys !== "Escape");
  const box = $("#letters", dialog);
  box.checked = letters();
  box.onchange = () => localStorage.setItem(OFF, box.checked ? "on" : "off");
}

function keyName(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.shiftKey && key !== "?" ? `Shift+${key === " " ? "Space" : key.toUpperCase()}` : key;
}
