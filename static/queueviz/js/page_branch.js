/* Branch from an event: the actions before it in words. */
import { $$, json, text } from "./dom.js";
import { clock } from "./format.js";
import { setUpTheme } from "./theme.js";
import { sentence } from "./words.js";

setUpTheme();
const rows = json("rows") ?? [];
$$("#acts li").forEach((line, at) => {
  text(line.querySelector("time"), clock(Number(rows[at].at_ms)));
  text(line.querySelector(".said"), sentence(rows[at], (id) => id, (key) => key));
});
