/* Branch from an event: the actions before it in words; one action different: that action. */
import { $$, json, text } from "./dom.js";
import { clock } from "./format.js";
import { setUpTheme } from "./theme.js";
import { sentence } from "./words.js";

setUpTheme();
const rows = json("rows") ?? [], said = (row) => sentence(row, (id) => id, (key) => key);
for (const node of $$("[data-fact]")) text(node, said(rows[node.dataset.fact]));
$$("#acts li:has(time)").forEach((line, at) => {
  text(line.querySelector("time"), clock(Number(rows[at].at_ms)));
  text(line.querySelector(".said"), said(rows[at]));
});
