/* The journal: newest facts first, filtered in place; each can be linked to, each names its cause. */
import { $ } from "./dom.js";
import { JournalList } from "./journal_list.js";
import { startShell } from "./shell.js";

const short = (id) => String(id).split("#")[0];
const list = new JournalList($("#journal"), { keep: 300, who: short, queue: (key) => key, stamp: true, quiet: true });
const search = $("#j-search"), causes = $("#j-causes"), quiet = $("#j-quiet");

list.accept = (row) => {
  if (causes.checked && row.type !== "ActionTaken") return false;
  if (!quiet.checked && ["LifecycleStep", "OffsetsPersisted", "MembersNotified", "RouteLearned"].includes(row.type)) return false;
  if (row.type === "QueueLocked" && row.how === "renewed" && !quiet.checked) return false;
  return !search.value || JSON.stringify(row).toLowerCase().includes(search.value.toLowerCase());
};
for (const control of [search, causes, quiet]) control.addEventListener("input", () => list.paint());

startShell({
  onFacts(rows, { gap }) {
    if (gap) list.gap(gap);
    list.add(rows);
  },
  keys: { "/": () => search.focus() },
});
