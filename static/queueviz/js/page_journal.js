/* The journal: newest facts first, filtered in place; each can be linked to, each names its cause.  With `?at=` it shows
   what lies around that event, flow and steps too, and stands still. */
import { $, el, json } from "./dom.js";
import { JournalList, isQuiet } from "./journal_list.js";
import { startShell } from "./shell.js";
import { isTold } from "./words.js";

const LOOK_BACK = 8000n, AROUND = 60n;
const FLOW = new Set(["OffsetCommitted"]);

const names = json("live").names;
const asked = new URLSearchParams(location.search).get("at"), at = /^\d{1,18}$/.test(asked ?? "") ? BigInt(asked) : null;
const short = (id) => names[id] ?? String(id).split("#")[0];
/** A fact about a client leads to its page. */
const more = (row) => (at !== null && !isTold(row.type) ? el("code", { class: "small fields" }, fields(row)) : row.client_id && !json("live").attached ? el("a", { class: "num", href: `../clients/${encodeURIComponent(row.client_id)}/` }, short(row.client_id)) : el("span"));
/** Of events that have no sentence: what they say. */
const fields = ({ seq, at_ms, type, cause, ...rest }) => Object.entries(rest).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(" · ").slice(0, 400);
const list = new JournalList($("#journal"), { keep: 300, who: short, queue: (key) => key, stamp: true, quiet: true, more });
const search = $("#j-search"), causes = $("#j-causes"), quiet = $("#j-quiet");

list.accept = (row) => {
  if (causes.checked && row.type !== "ActionTaken") return false;
  if (!quiet.checked && isQuiet(row) && at === null) return false;
  return !search.value || JSON.stringify(row).toLowerCase().includes(search.value.toLowerCase());
};
for (const control of [search, causes, quiet]) control.addEventListener("input", () => list.paint());

const { config } = startShell({
  after: json("live").seq,
  onFacts(rows, { gap }) {
    if (at !== null) return;
    if (gap) list.gap(gap);
    list.add(rows);
  },
  keys: { "/": () => search.focus() },
});

/** What happened before the page was opened, from the journal's own address; flow is left out. */
async function history() {
  const from = BigInt(config.seq) - LOOK_BACK, answer = await fetch(`${config.api}/events${from > 0n ? `?after=${from}` : ""}`);
  if (!answer.ok) return list.paint();
  const lines = (await answer.text()).trim().split("\n").filter(Boolean);
  const rows = lines.map((line) => JSON.parse(line)).filter((row) => isTold(row.type) && !FLOW.has(row.type) && BigInt(row.seq) <= BigInt(config.seq));
  list.rows.unshift(...rows);
  list.keep = Math.max(list.keep, Math.min(2000, rows.length));
  list.paint();
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "center" });
}

/** The events before and after one, all kinds; it is marked and brought into view. */
async function around() {
  const from = at - AROUND, answer = await fetch(`${config.api}/events?most=${2n * AROUND}${from > 0n ? `&after=${from}` : ""}`);
  const trimmed = answer.status === 410 ? await fetch(`${config.api}/events?most=${2n * AROUND}`) : answer;
  if (!trimmed.ok) return list.paint();
  list.rows = (await trimmed.text()).trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
  list.keep = list.rows.length;
  list.paint();
  const found = document.getElementById(`e${at}`);
  $("#j-gone").hidden = Boolean(found);
  found?.setAttribute("aria-current", "true");
  found?.scrollIntoView({ block: "center" });
}
if (at === null) history();
else around();
