/* The list of labs: theme, keys, and a search that leaves the labs with the most words of it. */
import { $, $$, hide } from "./dom.js";
import { setUpKeys } from "./keys.js";
import { setUpTheme } from "./theme.js";

const find = $("#find");
setUpKeys({ t: setUpTheme().theme, "/": () => find.focus() });
const labs = $$(".pack li").map((row) => ({ row, text: `${row.textContent} ${row.id}`.toLowerCase() }));
find.addEventListener("input", () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = labs.map(({ text }) => words.filter((word) => text.includes(word)).length), best = Math.max(...hits);
  labs.forEach(({ row }, at) => hide(row, hits[at] < best || (words.length > 0 && best === 0)));
  for (const pack of $$(".pack")) hide(pack, $$("li:not([hidden])", pack).length === 0);
  hide($("#no-lab"), !words.length || best > 0);
});
