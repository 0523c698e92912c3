/* Groups: channel `groups/…` onto a table that is sorted and searched here. Rows keep their places while the user points
   at them or has the focus there. */
import { say } from "./announce.js";
import { $, $$, attr, cls, hide, oneOf, text } from "./dom.js";
import { cells, inOrderOf, isLate, lookOf, matches } from "./group_lines.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const page = startShell({ keys: { "/": () => find.focus() } });
const { clock, config, painter } = page;
const table = $("#groups"), body = $("tbody", table), find = $("#find"), sort = $("#sort");
const rows = new Map($$("tr[data-group]", body).map((row) => [row.dataset.group, row]));
let groups = {};

find.value = new URL(location.href).searchParams.get("q") ?? "";
show(page, config.channels.groups, paint);
painter.every(() => write(clock.now()));

function paint(data) {
  groups = data.groups ?? {};
  for (const [name, row] of rows) if (!(name in groups)) (row.remove(), rows.delete(name));
  for (const name of Object.keys(groups)) if (!rows.has(name)) add(name);
  text($("#count"), String(Object.keys(groups).length));
  write(clock.now());
  pick();
  if (!table.matches(":hover") && !body.contains(document.activeElement)) order();
}

function add(name) {
  const row = $("#t-group").content.firstElementChild.cloneNode(true);
  row.dataset.group = name;
  text($("a", row), name);
  rows.set(name, row);
  body.append(row);
}

function write(now) {
  for (const [name, node] of rows) {
    const row = groups[name];
    if (!row) continue;
    for (const [cell, value] of Object.entries(cells(row, now))) text((node._cells ??= {})[cell] ??= $(`[data-c=${cell}]`, node), value);
    oneOf(node, "g-", `g-${lookOf(row)}`);
    cls(node, "late", isLate(row, now));
    attr($("a", node), "href", `${config.root}?${new URLSearchParams({ group: name, ...(row.topic ? { topic: row.topic } : {}) })}`);
  }
}

function order() {
  let at = body.firstElementChild;
  for (const name of inOrderOf(groups, sort.value)) {
    const row = rows.get(name);
    if (row === at) at = at.nextElementSibling;
    else body.insertBefore(row, at);
  }
  for (const head of $$("th[data-sort]", table)) attr(head, "aria-sort", head.dataset.sort !== sort.value ? null : ["name", "members", "worst"].includes(sort.value) ? "ascending" : "descending");
}

function pick() {
  const wanted = find.value.trim().toLowerCase();
  let shown = 0;
  for (const [name, row] of rows) {
    const fits = matches(name, groups[name], wanted);
    hide(row, !fits);
    shown += Number(fits);
  }
  hide($("#no-groups"), rows.size > 0);
  hide($("#no-match"), !rows.size || shown > 0);
  hide(table, shown === 0);
  return shown;
}

function sortBy(column) {
  sort.value = column;
  order();
  say(t("group.sorted", { column: sort.selectedOptions[0].textContent }));
}

find.addEventListener("input", () => {
  const n = pick(), url = new URL(location.href);
  if (find.value.trim()) url.searchParams.set("q", find.value.trim());
  else url.searchParams.delete("q");
  history.replaceState(null, "", url);
  say(t("group.found", { n }));
});
sort.addEventListener("change", () => sortBy(sort.value));
table.addEventListener("click", ({ target }) => {
  const head = target.closest("th[data-sort]");
  if (head && target.closest("button")) sortBy(head.dataset.sort);
});
$("#no-match button").addEventListener("click", () => {
  find.value = "";
  find.dispatchEvent(new Event("input"));
  find.focus();
});
