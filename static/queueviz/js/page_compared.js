/* Two runs side by side: the board of each at the end, with one scale for both, and their first difference in words. */
import { $$, $, json, text } from "./dom.js";
import { QueueRows } from "./queue_rows.js";
import { windowFor } from "./scale.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { setUpTheme } from "./theme.js";
import { sentence, t } from "./words.js";

setUpTheme();
const { sides, names } = json("compared"), rows = json("rows");
const who = (id) => names[id] ?? String(id).split("#")[0];
const said = (row) => sentence(row, who, (key) => key);
for (const node of $$("[data-fact]")) text(node, said(rows[node.dataset.fact]));
const firsts = rows.slice(1);
$$("[data-row]").forEach((node, at) => text(node, said(firsts[at])));

const none = { of: () => [] };
const captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));
shareWindow(windowFor(sides.flatMap(({ board }) => Object.values(board?.queues ?? {}).map(reach)).filter((lag) => lag !== null)));
$$(".side .rows").forEach((box, at) => {
  const { board, at_ms } = sides[at], list = new QueueRows(box, $("#t-row"), { onSelect: () => {} });
  list.sync(board.queues);
  list.paint(board, { now: at_ms, captions, jump: true, history: none });
});
