/* The journal: newest facts first, filtered where they are kept, back to the first event; each can be linked to, each
   names its cause.  With `?at=` it shows the events around that one, with flow and steps, and does not update. */
import { go } from "./address.js";
import { $, attr, el, hide, json, text } from "./dom.js";
import { clock, number } from "./format.js";
import { Diff } from "./journal_diff.js";
import { isStep } from "./journal_list.js";
import { LongJournal } from "./journal_long.js";
import { fill, lookBack } from "./looking_back.js";
import { startShell } from "./shell.js";
import { isTold, pagesRoot, t } from "./words.js";

const PAGE = 100, AROUND = 60, TYPED_MS = 300, SEARCHED_MS = 1000;

const { names, at, api, attached } = json("live");
const short = (id) => names[id] ?? String(id).split("#")[0];
/** A fact about a client leads to its page; an event without a sentence shows its fields. */
const more = (row) => (attached ? [seen(row)] : [seen(row), forks(row)]);
/** The Board as it was at the event, and a sandbox that goes on from there. */
const linked = location.pathname.startsWith("/v/") || window.queuevizLite; // behind a live link, and in a browser, nothing is made
const branch = ({ seq }) => (linked ? [] : [" · ", el("a", { href: `${pagesRoot}what-if/?at=${seq}` }, t("journal.what_if"))]);
const forks = (row) => el("span", { class: "small forks" }, el("a", { href: `${pagesRoot}?at=${row.seq}` }, t("journal.board")), ...branch(row), ...(diff ? [" · ", diff.box(row)] : []));
function seen(row) {
  if (!isTold(row.type)) return el("code", { class: "small fields" }, fields(row));
  if (!row.client_id || attached) return el("span");
  return el("a", { class: "num", href: `${pagesRoot}clients/${encodeURIComponent(row.client_id)}/` }, short(row.client_id));
}
const field = ([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`;
const fields = ({ seq: _seq, at_ms: _at, type: _type, cause: _cause, ...rest }) => Object.entries(rest).map(field).join(" · ").slice(0, 400);
const diff = attached ? null : new Diff($("#j-diff"), api);
const list = new LongJournal($("#journal"), { who: short, queue: (key) => key, more });
const search = $("#j-search"), causes = $("#j-causes"), steps = $("#j-quiet"), flow = $("#j-flow"), state = $("#j-state"), older = $("#j-older"), clear = $("#j-clear");

const shown = () => (causes.checked ? "actions" : flow?.checked ? "all" : steps.checked ? "facts" : "told");
const wanted = () => (at ? { show: "all" } : { show: shown(), search: search.value.trim() });
const fits = (row) => (causes.checked ? row.type === "ActionTaken" : steps.checked || !isStep(row));
let before = null, looking = null;

startShell({
  after: json("live").seq,
  async onFacts(rows, { gap }) {
    if (at) return;
    if (gap) before = (await fill(list, api, gap, { ...wanted(), most: PAGE }).catch(() => null)) ?? before;
    if (wanted().search || flow?.checked) searchSoon(); // what flows is no news of the channel
    else list.add(rows.filter((row) => fits(row) && !(gap && BigInt(row.seq) < BigInt(gap.before))));
  },
  keys: { "/": () => search?.focus() },
});

/** One more page of what lies before. */
async function look({ most = PAGE, from = before } = {}) {
  looking?.abort();
  const mine = (looking = new AbortController());
  hide(older, true);
  hide(clear, true);
  say(t("journal.looking"));
  try {
    const found = await lookBack(api, { ...wanted(), most, before: from }, { signal: mine.signal, heard: (so_far) => say(t("journal.looked", place(so_far))) });
    before = found.before;
    list.grow(found.rows);
    report(found);
    return found;
  } catch {
    if (mine.signal.aborted) return;
    say(t("journal.failed"));
    hide(older, false);
  }
}

/** From the newest on, for other filters. */
function renew() {
  before = null;
  list.clear();
  remember();
  return look();
}

/** What a search finds among the events that came since. */
async function newest() {
  const { search: asked } = wanted(), found = await lookBack(api, { ...wanted(), most: PAGE, after: list.rows.findLast((row) => !row.gap)?.seq ?? before ?? -1 }).catch(() => null);
  if (found && asked === wanted().search) list.add(found.rows);
}

const place = ({ before: seq, at_ms }) => ({ seq: number(seq), at: clock(at_ms) });
const say = (sentence) => text(state, sentence);

/** How far back the list reaches; where nothing fits, which filters hide everything. */
function report(found) {
  const none = !list.rows.length, filters = at ? [] : named(), end = found.before === null;
  const reach = !end ? t("journal.back_to", place(found)) : Number(found.first_seq) <= (attached ? 1 : 0) ? t("journal.first") : t("journal.trimmed", { seq: number(found.first_seq) });
  if (none && filters.length) say(`${t("journal.nothing_fits", { filters: filters.join(t("journal.and")) })} ${end ? reach : t("journal.looked", place(found))}`);
  else say(none && end ? t("journal.none") : reach);
  hide(older, end);
  text(older, t(none ? "journal.further" : "journal.older"));
  hide(clear, !(none && filters.length));
}

function named() {
  const asked = wanted();
  const filters = [asked.search && t("journal.f_search", { text: asked.search }), causes.checked && t("journal.f_causes")].filter(Boolean);
  return filters.length && asked.show === "told" ? [...filters, t("journal.f_steps")] : filters;
}

/** The address holds the filters, so that it can be passed on. */
function remember() {
  const address = new URL(location.href);
  for (const [name, value] of [["search", search.value.trim()], ["causes", causes.checked ? "1" : ""], ["steps", steps.checked ? "1" : ""], ["messages", flow?.checked ? "1" : ""]])
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  history.replaceState(null, "", address);
}

/** The event the address names: here, or with what lies around it. */
function open() {
  const asked = /^#e(\d{1,18})$/.exec(location.hash)?.[1];
  if (asked && !point(asked)) go(`?at=${asked}`);
}

function point(seq) {
  const row = document.getElementById(`e${seq}`);
  for (const marked of list.root.querySelectorAll("[aria-current]")) attr(marked, "aria-current", null);
  if (row) attr(row, "aria-current", "true");
  row?.scrollIntoView({ block: "center" });
  return row;
}

let typing = null, searching = null;
/** Facts that come meanwhile are in the same search: they neither put it off nor what is being typed. */
function searchSoon() {
  searching ??= setTimeout(() => {
    searching = null;
    newest();
  }, SEARCHED_MS);
}

older.addEventListener("click", () => look());
if (at) {
  const found = await look({ most: 2 * AROUND + 1, from: String(BigInt(at) + BigInt(AROUND) + 1n) });
  if (found && !point(at)) {
    text($("#j-gone"), t(BigInt(at) < BigInt(found.first_seq) ? "journal.gone" : "journal.no_such"));
    hide($("#j-gone"), false);
  }
} else {
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(renew, TYPED_MS);
  });
  for (const control of [causes, steps, flow]) control?.addEventListener("input", renew);
  clear.addEventListener("click", () => {
    search.value = "";
    causes.checked = false;
    renew();
    search.focus();
  });
  await look();
  open();
}
addEventListener("hashchange", open);
