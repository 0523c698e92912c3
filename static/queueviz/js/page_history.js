/* History: the job's results from the journal, then the values that the Board's chart and this page received. */
import { Bands } from "./bands.js";
import { $, $$, json, text } from "./dom.js";
import { downLines, knownText } from "./down_brokers.js";
import { History } from "./history.js";
import { HistoryChart } from "./history_chart.js";
import { calmed, grouped, OTHERS, TOTAL, worstOf } from "./history_lines.js";
import { Multiples } from "./history_multiples.js";
import { inOrder, shortNames } from "./names.js";
import { lagOf, offset } from "./offsets.js";
import { show, startShell } from "./shell.js";
import { findingWord, t } from "./words.js";

const bands = new Bands(json("live").group, json("live").history?.bands);
const page = startShell({ onFacts: (facts) => facts.forEach((fact) => bands.follow(fact, findingWord)) });
const { clock, config } = page, given = config.history;
const chart = $("#h-chart") && new HistoryChart($("#h-chart"), { measure: given.measure, words: given.words, legend: $("#h-legend"), readout: $("#h-read"), list: $("#h-bands") });
const multiples = $("#h-queues") && new Multiples($("#h-queues"), $("#h-scale"));
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

/** The past of a line from the server, then what this page and the Board received. */
function pointsOf({ at_ms, lines }, name, live, seam_ms) {
  return joined(at_ms.map((at, k) => [at, lines[name]?.[k] ?? null]), (live ?? []).filter(([at]) => at > seam_ms));
}

function draw() {
  const to_ms = Math.max(clock.now(), given.at_ms.at(-1) ?? 0), seam_ms = given.at_ms.at(-1) ?? 0;
  const live = new Map((given.measure === "lag" ? [...lags.series.keys()] : [...seen.keys()]).map((name) => [name, remembered(name)]));
  const lines = given.measure === "flow" ? flowLines(live, seam_ms) : queueLines(live, seam_ms);
  const first = Math.min(...lines.map(({ points }) => points[0]?.[0] ?? to_ms));
  const from_ms = given.span_ms ? to_ms - given.span_ms : Math.min(first, to_ms - 60000);
  chart.show(lines, bands.list, { from_ms, to_ms, seam_ms });
  if (multiples) multiples.paint(eachQueue(live), bands.list, { from_ms, to_ms, value: (v) => chart.value(v) });
}

function flowLines(live, seam_ms) {
  return ["produced", "consumed"].map((name, i) => ({ name: given.words[name], tag: given.words[name], me: `me-${i}`, points: pointsOf(given, name, live.get(name), seam_ms) }));
}

function queueLines(live, seam_ms) {
  const past = Object.keys(given.lines), worst = inOrder(worstOf(live, past)), shorts = shortNames(new Set([...worst, ...live.keys(), ...past.filter((name) => name.includes(":"))]));
  const now = grouped(live, worst, given.measure === "age"), rest = Math.max(given.others, [...live.keys()].filter((name) => !worst.includes(name)).length);
  const drawn = worst.map((name, i) => ({ name: shorts.get(name), tag: shorts.get(name), me: `me-${i % 6}`, points: pointsOf(given, name, now.get(name), seam_ms) }));
  const total = { name: t("history.total"), tag: null, me: "me-total", points: pointsOf(given, TOTAL, now.get(TOTAL), seam_ms) };
  const others = { name: t("history.others", { n: rest }), tag: "", me: "me-others", points: pointsOf(given, OTHERS, now.get(OTHERS), seam_ms) };
  const all = worst.length < 2 && !rest ? [] : [total, ...(rest ? [others] : [])]; // one queue is its own total
  if (given.measure === "lag") calmDown(drawn, all);
  return [...all.slice(0, 1), ...drawn, ...all.slice(1)];
}

/** Set what is drawn of these lines; the table and the values under the cursor are exact. */
function calmDown(queues, all = []) {
  const drawn = calmed(queues.map(({ points }) => points), all.map(({ points }) => points)).flat();
  for (const [i, line] of [...queues, ...all].entries()) line.drawn = drawn[i];
}

function eachQueue(live) {
  const past = given.queues ?? { at_ms: [], lines: {} }, names = inOrder(new Set([...Object.keys(past.lines), ...(past.at_ms.length ? [] : live.keys())])), shorts = shortNames(names);
  const lines = names.map((name) => ({ name: shorts.get(name), points: pointsOf(past, name, live.get(name), past.at_ms.at(-1) ?? 0) }));
  if (given.measure === "lag") calmDown(lines);
  return lines;
}
