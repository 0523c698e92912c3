/* History: the job's results from the journal, then the values that the Board's chart and this page received. */
import { $, $$, text } from "./dom.js";
import { downLines, knownText } from "./down.js";
import { History } from "./history.js";
import { HistoryChart } from "./history_chart.js";
import { inOrder, shortNames } from "./names.js";
import { lagOf, offset } from "./offsets.js";
import { show, startShell } from "./shell.js";

const page = startShell();
const { clock, config } = page, given = config.history;
const chart = $("#h-chart") && new HistoryChart($("#h-chart"), { measure: given.measure, words: given.words, legend: $("#h-legend"), readout: $("#h-read") });
const lags = new History(`${config.slug}/${config.group}/${config.topic}`); // the Board's own memory
const seen = new Map(); // of the other measures: name → points since this page was opened
let board = null, second = null, sums = null;

for (const pick of $$(".picks :is(select, input)")) pick.addEventListener("change", () => pick.form.requestSubmit());
if ($("#h-show")) $("#h-show").hidden = true;

if (chart) {
  if (config.channels.board) show(page, config.channels.board, paint);
  page.painter.every(tick);
  draw();
}

function paint(data) {
  board = data;
  const known = knownText(board.header), node = $("#h-known");
  node.hidden = !known;
  text(node, known ? [known, ...downLines(board.queues ?? {})].join(" · ") : "");
}

function tick() {
  const now = Math.floor(clock.now() / 1000);
  if (now === second) return;
  second = now;
  if (board && page.live.status === "connected") note(now * 1000);
  draw();
}

/** A point of this second for every line. */
function note(at) {
  const queues = Object.entries(board.queues ?? {});
  lags.note(at, queues.map(([key, row]) => [key, lagOf(row)]));
  if (given.measure === "age") for (const [key, row] of queues) push(key, at, age(row, at));
  if (given.measure === "flow") flow(queues, at);
}

const age = (row, at, lag = lagOf(row)) => (lag === null ? null : lag > 0 ? (row.oldest_stored_ms ? Math.max(0, at - row.oldest_stored_ms) : null) : 0);

/** In and out since the second before, from the counters themselves. */
function flow(queues, at) {
  const sum = (name) => queues.reduce((all, [, row]) => (all === null || offset(row[name]) === null ? null : all + offset(row[name])), 0n);
  const now = { at, produced: sum("max"), consumed: sum("committed") };
  for (const name of ["produced", "consumed"]) {
    const known = sums && sums[name] !== null && now[name] !== null && at > sums.at && at - sums.at <= 3000;
    push(name, at, known ? Math.max(0, Number(now[name] - sums[name]) / ((at - sums.at) / 1000)) : null);
  }
  sums = now;
}

function push(name, at, value) {
  if (!seen.has(name)) seen.set(name, []);
  seen.get(name).push([at, value]);
  if (seen.get(name).length > 900) seen.get(name).shift();
}

/** The Board's memory as points, one a second up to its newest. */
function remembered(name) {
  if (given.measure !== "lag") return seen.get(name) ?? [];
  const values = lags.series.get(name)?.values ?? [], last = lags.second ?? 0;
  return values.map((v, i) => [(last - (values.length - 1 - i)) * 1000, v]);
}

/** Add a gap between the end of the one and the beginning of the other if no data exists there. */
function joined(past, present) {
  const is_apart = past.length && present.length && present[0][0] - past.at(-1)[0] > 2000;
  return is_apart ? [...past, [past.at(-1)[0] + 1, null], ...present] : [...past, ...present];
}

function draw() {
  const to_ms = Math.max(clock.now(), given.at_ms.at(-1) ?? 0), seam_ms = given.at_ms.at(-1) ?? 0;
  const live = given.measure === "lag" ? [...lags.series.keys()] : [...seen.keys()];
  const names = given.measure === "flow" ? ["produced", "consumed"] : inOrder(new Set([...Object.keys(given.lines), ...live]));
  const shorts = given.measure === "flow" ? new Map(names.map((name) => [name, given.words[name]])) : shortNames(names);
  const lines = names.map((name, i) => ({
    name: shorts.get(name), me: `me-${i % 6}`, dash: `dash-${Math.floor(i / 6) % 3}`,
    points: joined(given.at_ms.map((at, k) => [at, given.lines[name]?.[k] ?? null]), remembered(name).filter(([at]) => at > seam_ms)),
  }));
  const first = Math.min(...lines.map((line) => line.points[0]?.[0] ?? to_ms));
  const from_ms = given.span_ms ? to_ms - given.span_ms : Math.min(first, to_ms - 60000);
  chart.show(lines, { from_ms, to_ms, seam_ms });
}
