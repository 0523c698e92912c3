/* The Board: channel `board/…` onto rows, lanes, cards, figures, chart; `store/…` onto the tape; facts onto the journal. */
import { go, reload } from "./address.js";
import { openAsk, post, unanswered } from "./ask.js";
import { BoardCards } from "./board_cards.js";
import { BoardLanes } from "./board_lanes.js";
import { LagChart } from "./chart.js";
import { setUpDetails } from "./details.js";
import { $, $$, around, attr, cls, hide, json, text } from "./dom.js";
import { setUpFindingLine } from "./finding_line.js";
import { setUpFindingMarks } from "./finding_marks.js";
import { keepFindingsFresh } from "./finding_pace.js";
import { Forecast } from "./forecast.js";
import { number } from "./format.js";
import { History } from "./history.js";
import { JournalList, isStep } from "./journal_list.js";
import { Kpis } from "./kpis.js";
import { later, needed, once } from "./later.js";
import { differText } from "./member_words.js";
import { colour, inOrder, lettersOf, shortNames } from "./names.js";
import { lagOf } from "./offsets.js";
import { QueueRows } from "./queue_rows.js";
import { drawRing } from "./ring.js";
import { nextWindow, WIDEST } from "./scale.js";
import { show, startShell } from "./shell.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { Tape } from "./tape.js";
import { findingWord, t } from "./words.js";

const MANY = 64; // queues with a strip of their own
const STAYED_MS = 3000; // a link followed so long ago was a download: the page is still here
let board = null, store = null, heat = null, started = false, leaving = false;
export const who = (id) => lettersOf(board?.members, id) || (page.config.names[id] ?? String(id).split("#")[0]);
export const queueName = (key) => rows.shorts.get(key) ?? key;
const journal = new JournalList($("#journal"), { keep: 6, who, queue: queueName });
const chart = new LagChart($("#chart"), json("live").group);

export const page = startShell({
  onFacts(facts, { gap, whole }) {
    journal.empty ??= t(whole ? "journal.none" : "journal.only_steps");
    const added = journal.add(facts.filter((fact) => !isStep(fact) && !isClosing(fact)));
    if (gap) journal.gap(added, gap.before);
    for (const fact of facts) bend(fact), subscribed(fact);
    if (facts.some(isFirst)) again();
  },
  keys: {
    ArrowDown: () => rows.step(1),
    ArrowUp: () => rows.step(-1),
    ArrowRight: () => cards.step(1),
    ArrowLeft: () => cards.step(-1),
    Enter: ({ target }) => target.dataset?.queue && showCause(target.dataset.queue),
    ...($("#add") ? { a: () => $("#add").click(), x: () => crash() } : {}),
  },
});
const { clock, config, painter } = page;

/** Of falling asleep the list has one line: what every client and broker did then would hide what was before. */
function isClosing({ seq, type }) {
  return page.live.sleeps && BigInt(seq) > drawn && type !== "SandboxSlept";
}
setUpDetails();
setUpFindingMarks();
setUpFindingLine();
keepFindingsFresh(page);
const asked = new URLSearchParams({ group: config.group, topic: config.topic });
const recent = async () => {
  const answer = await fetch(`${config.api}/ask/recent-lag?${asked}`);
  return answer.ok ? answer.json() : null; // asleep, or not to be asked so often
};
const past = Boolean(config.replay);
const history = new History(`${past ? "past/" : ""}${config.slug}/${config.group}/${config.topic}`, past || config.attached || !config.group || !config.topic ? null : recent);
const drawn = BigInt(config.seq);
const rows = new QueueRows($("#rows"), $("#t-row"), { onSelect: () => repaint() });
const cards = new BoardCards($("#consumers"), $("#t-card"), $("#adds"));
const lanes = new BoardLanes($("#lanes"), $("#board"), rows, cards);
const kpis = new Kpis();
const tape = $("#tape") && new Tape($("#tape"), $("#tape-topics"));
let strips = null; // the window all strips share
const captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));
const forecast = new Forecast({ config, lanes, cards, runs: () => !page.live.sleeps });
rows.selected = config.sel ?? null;
const peek = once(() => import("./strip_peek.js"), ({ setUpPeek }) => setUpPeek({ rows, config, board: () => board, window: () => strips.size }));
rows.box.addEventListener("pointerover", peek);

if (config.channels.board) show(page, config.channels.board, paint);
if (config.channels.store) {
  const log = show(page, config.channels.store, (data) => {
    store = data;
    paintTape();
  }, { element: $("#tape") });
  page.live.addEventListener("status", () => {
    cls($("#tape"), "old", Boolean(log.ended)); // its broker is stopped
    if (!store && (page.live.sleeps || log.ended === "stopped")) text($("#tape-topics"), t("tape.stopped"));
  });
}
function paint(whole, jump) {
  whole.queues ??= {};
  whole.members ??= {};
  const now = clock.now(), data = { ...whole, queues: shownOf(whole.queues, now) }, { queues } = data;
  board = data;
  const rowsMoved = rows.sync(queues), moved = cards.sync(data.members) || rowsMoved;
  if (moved || !started) {
    started = true;
    attr($("#no-queues") ?? document.createElement("i"), "hidden", Object.keys(whole.queues).length > 0);
    if (!rows.selected) rows.selected = worst(data);
    lanes.watchCards();
  }
  forecast.renew(whole);
  attr($("#board"), "data-orderly", data.header?.listener === "orderly");
  const lags = Object.values(queues).map(reach).filter((lag) => lag !== null);
  const window = (strips = nextWindow(strips, lags, performance.now(), now)).size;
  heat?.paint(whole.queues, queues, shortNames(Object.keys(whole.queues)), rows.selected);
  text($("#window"), heat ? t("heat.head", { n: Object.keys(queues).length, all: Object.keys(whole.queues).length }) : t(lags.some((lag) => lag > WIDEST) ? "strip.head_beyond" : "strip.head", { n: number(window) }));
  if (!past && noteLags(queues, now)) paintChart(data, now);
  shareWindow(window);
  rows.paint(data, { now, captions, jump, history });
  cards.paint(data, now, rows.shorts);
  if (moved || !lanes.size) requestAnimationFrame(() => lanes.layout());
  lanes.paint(data, jump);
  kpis.paint(data.header, whole.queues, now);
  const differ = $("#k-differ"), said = differText(data.header ?? {});
  if (differ && differ.textContent !== said) {
    text(differ, said);
    hide(differ, !said);
    differ.dataset.why ??= differ.title;
    attr(differ, "title", `${said}. ${differ.dataset.why}`); // where there is no room for all of it
  }
  text($("#add-letter") ?? document.createElement("i"), data.header?.next_actor ?? "");
  pinnedKeys(data);
}

/** Up to 64 queues all of them have a strip, above that the worst do and a heat map shows the rest. */
function shownOf(queues, now) {
  if (heat) return heat.pick(queues, rows.selected, now);
  if (Object.keys(queues).length <= MANY) return queues;
  heat = { pick: () => ({}), paint() {} };
  later(() => import("./heat_map.js")).then((it) => (heat = it && new it.HeatMap($("#rows"), { select: (key) => rows.choose(key) }))); // else the next picture tries again
  return {};
}

painter.every(() => {
  if (!board) return;
  const now = clock.now();
  rows.tick(board, now);
  kpis.tick(board.header, now);
  cards.paint(board, now, rows.shorts);
  timers(now);
  if (page.live.status === "connected" && noteLags(board.queues, now)) paintChart(board, now);
});

setInterval(() => lanes.hold(page.live.status !== "connected" || clock.rate === 0 || painter.frozen), 300);

function repaint() {
  if (board) paint(board, true);
  paintTape();
  const url = new URL(location.href);
  url.searchParams.set("sel", String(rows.selected));
  window.history.replaceState(null, "", url);
}

/** Whether the chart has something new to draw. */
function noteLags(queues, now) {
  return history.note(now, Object.entries(queues).map(([key, row]) => [key, lagOf(row)]), clock.rate === 0) || history.fresh;
}

function paintChart(data, now) {
  history.fresh = false;
  const shorts = shortNames(Object.keys(data.queues));
  chart.update(inOrder(Object.keys(data.queues)).map((key) => {
    const row = data.queues[key], age = row.oldest_stored_ms && lagOf(row) ? now - row.oldest_stored_ms : 0, me = colour(data.members[row.owner ?? row.assigned]);
    return { key, name: shorts.get(key), colour: me === "me-none" ? "--text-3" : `--c${me.slice(3)}`, hot: age > 15000, values: history.of(key).values };
  }), now);
}

function paintTape() {
  if (store) tape.update(store, { queue: rows.selected ?? inOrder(Object.keys(board?.queues ?? {}))[0], topic: config.topic });
}

/** The most urgent queue: the one with the oldest message. */
function worst(data) {
  const [key] = Object.entries(data.queues).sort((a, b) => (a[1].oldest_stored_ms ?? Infinity) - (b[1].oldest_stored_ms ?? Infinity))[0] ?? [null];
  return key;
}

function pinnedKeys(data) {
  for (const [key, view] of rows.rows) attr(view.node, "data-oldest-key", data.queues[key]?.oldest?.key ?? null);
}

/** The four timers of the chosen member, else of the first one running. */
function timers(now) {
  const running = Object.keys(board.members).find((m) => board.members[m].state === "running");
  const member = board.members[cards.selected ?? ""] ?? board.members[running ?? ""], label = $("#timer-of");
  if (label) text(label, member?.letter ?? "");
  for (const figure of $$("[data-timer]")) {
    const due = member?.timers?.[figure.dataset.timer], left = due ? Math.max(0, due - now) : null;
    drawTimer(figure, left, Number(figure.dataset.period));
  }
}

function drawTimer(figure, left, period) {
  figure._ring ??= figure.querySelector("svg");
  drawRing(figure._ring, { share: left === null ? 0 : left / period, label: left === null ? "–" : String(Math.ceil(left / 1000)) });
}

/** The first topic, the first member of a group: it came after this page was drawn, which shows another board now. */
function isFirst(fact) {
  const awaited = config.topic ? (config.group ? null : "MemberJoined") : "TopicChanged";
  return fact.type === awaited && BigInt(fact.seq) > drawn;
}

/** Neither under an open dialog nor instead of the page a link was just followed to: a reload would cancel that. */
function again() {
  const dialog = $("dialog[open]");
  if (dialog) dialog.addEventListener("close", again, { once: true });
  else if (leaving) setTimeout(again, STAYED_MS);
  else reload();
}

window.addEventListener("beforeunload", () => {
  leaving = true;
  setTimeout(() => { leaving = false; }, STAYED_MS);
});

/** Facts that bend a lag curve become lines in the chart. */
function bend(fact) {
  if (fact.group && fact.group !== config.group) return;
  const at = Number(fact.at_ms);
  if (fact.type === "MemberStateChanged" && fact.state === "crashed") chart.mark(at, t("chart.crashed", { who: who(fact.client_id) }));
  else if (fact.type === "MemberStateChanged" && fact.state === "hung") chart.mark(at, t("chart.silent", { who: who(fact.client_id) }));
  else if (fact.type === "OffsetsReset") chart.mark(at, t("chart.reset"), true);
  else chart.bands.follow(fact, (it) => findingWord(it, queueName));
}

/** What the broker keeps for the group: the newest subscription of any member. */
function subscribed({ type, group, topic, expression }) {
  const shown = $("#k-subscription");
  if (past || !shown || type !== "SubscriptionChanged" || group !== config.group || topic !== config.topic) return;
  text(shown, expression);
  hide(shown, expression === "*");
}

/** The fact behind a row's last change, in the journal. */
function showCause(key) {
  const cause = board?.queues[key]?.cause;
  if (cause) go(`${config.root}journal/#e${cause}`);
}

function crash() {
  if (page.live.state !== "connected") return;
  const card = cards.cards.get(cards.selected) ?? [...cards.cards.values()].find(({ node }) => !node.classList.contains("out"));
  if (card?.node.dataset.actor) openAsk("crash", null, card.node.dataset.actor);
}

/** The first member of ours, beside those of other processes that a broker may know. */
function firstOfOurs(subscriptions) {
  const { listener, model, strategy } = board?.header ?? {};
  return {
    subscriptions: JSON.stringify(subscriptions), listener: listener ?? "concurrent", model: model ?? "CLUSTERING",
    work_ms: "100,600", ...(strategy ? { strategy } : {}),
  };
}

$("#add")?.addEventListener("click", ({ currentTarget }) => {
  const action = { action: "StartConsumer", group: config.group ?? "consumers" };
  const first = config.subscription?.length ? config.subscription : [{ topic: config.topic, expression: "*" }];
  // without subscriptions it is like the group's newest member
  post(`${config.root}actions/`, board?.header?.like ? action : { ...action, ...firstOfOurs(first) }, currentTarget);
});
document.body.addEventListener("click", async (event) => {
  const dialog = $("#resetdlg");
  if (!dialog || !around(event.target, "[data-reset]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const failed = () => unanswered(document.body), it = await later(() => import("./reset_dialog.js"), failed);
  if (it && !(await it.openResetDialog(dialog, { config, clock, live: page.live, board: () => board }))) failed();
});
if (past) needed(() => import("./replay.js"), () => unanswered(document.body)).then(({ startReplay }) => startReplay(page, { paint, rows, who }));
