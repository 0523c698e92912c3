/* The live page of a course: channel `grid/…` onto tiles, counts, hands, and the student that is open. */
import { post } from "./ask.js";
import { SandboxClock } from "./clock.js";
import { $, attr, el, hide, json, text } from "./dom.js";
import { Painter } from "./frame.js";
import { Broadcast } from "./grid_broadcast.js";
import { Selection } from "./grid_selection.js";
import { behind, differsWhy, glyph, NEED, stateWords, Tiles } from "./grid_tiles.js";
import { setUpKeys } from "./keys.js";
import { Live } from "./live.js";
import { Pill } from "./pill.js";
import { show } from "./shell.js";
import { StudentBoard } from "./student_board.js";
import { StudentNote } from "./student_note.js";
import { setUpTheme } from "./theme.js";
import { t } from "./words.js";

const SPEAK_MS = 5000;
const ALWAYS = ["waiting", "working", "stuck"], COUNTED = [...ALWAYS, ...NEED.filter((state) => !ALWAYS.includes(state))];
const { theme, projector } = setUpTheme();
const config = json("live"), clock = new SandboxClock(), painter = new Painter(), live = new Live(clock);
let rows = {}, known = false, shown = null, opened = null, spoke_ms = -Infinity;
const selection = new Selection(() => {
  paint();
  say(selection.numbers.length ? t("grid.selected", { n: selection.numbers.length }) : t("grid.unselected"));
});
const tiles = new Tiles($("#tiles"), open, named, selection);
const counts = new Map();
const hands = new Map();
const board = new StudentBoard(), note = new StudentNote();
const broadcast = new Broadcast({ rows: () => rows, shown: () => shown, opened: () => opened, selected: () => selection.numbers, refused: (why) => (tiles.refused = why), say });

new Pill(live, painter);
show({ live, painter, config }, config.channels.grid, (data) => {
  const before = rows;
  [rows, known] = [data.tiles ?? {}, true];
  paint();
  speak(before);
});
painter.every(() => known && paint()); // the server's tiles stay until the first reading
setUpKeys({ t: theme, p: projector, Escape: () => selection.clear() || close(), "Shift+B": () => broadcast.freeze() });
$("#sort").addEventListener("click", () => say(t("grid.sorted", { n: tiles.sort(rows) })));
$("#take").addEventListener("click", () => broadcast.take());
$("#student-close").addEventListener("click", close);
$("#twin-toggle").addEventListener("click", () => {
  const table = $("#table");
  table.hidden = !table.hidden;
  $("#tiles").hidden = !table.hidden;
  attr($("#twin-toggle"), "aria-pressed", String(!table.hidden));
});
live.connect();
/** @type {any} */ (globalThis).queueviz = { live, clock, painter, tiles }; // for the console

/** On the wall no student has a name, and no question that a student wrote is read out. */
function named(row, number) {
  return onTheWall() ? t("grid.place", { n: Object.keys(rows).indexOf(number) + 1 }) : row.name;
}

function onTheWall() {
  return document.documentElement.hasAttribute("data-projector");
}

function paint() {
  const now_ms = Date.now();
  selection.paint(rows);
  tiles.paint(rows, now_ms, shown);
  text($("#students"), Object.keys(rows).length);
  for (const state of COUNTED) count(state);
  const moves = tiles.moves(rows);
  text($("#sort"), t("grid.sort", { n: moves }));
  raise();
  broadcast.paint();
  if (!$("#table").hidden) twin(now_ms);
  if (opened) student(now_ms);
}

/** A filter each; counted over the whole class, not over what is shown. Rare states are shown where a student is in them: the figures sum to all. */
function count(state) {
  const n = Object.values(rows).filter((row) => row.state === state).length;
  if (!counts.has(state)) {
    const figure = el("b", { class: "num" }), button = el("button", { type: "button", "aria-pressed": "false" });
    button.append(glyph(state), figure, ` ${t(`grid.${state}`)}`);
    button.addEventListener("click", () => {
      shown = shown === state ? null : state;
      for (const [other, [it]] of counts) attr(it, "aria-pressed", String(other === shown));
      paint();
    });
    counts.set(state, [button, figure]);
    $("#counts").append(button);
  }
  text(counts.get(state)[1], n);
  attr(counts.get(state)[1], "data-none", n ? null : "");
  hide(counts.get(state)[0], !n && !ALWAYS.includes(state));
}

/** The longest wait first; the order changes only when a hand is added or lowered. */
function raise() {
  const up = Object.entries(rows).filter(([, row]) => row.state === "asking").sort(([, a], [, b]) => a.since_ms - b.since_ms);
  for (const [number, node] of hands) if (!up.some(([other]) => other === number)) node.remove(), hands.delete(number);
  for (const [number, row] of up) {
    if (!hands.has(number)) {
      const lower = el("button", { class: "btn sm", type: "button" }, t("grid.lower"));
      lower.addEventListener("click", () => post(`../students/${number}/`, { do: "lower" }));
      hands.set(number, el("li", {}, el("b", {}), lower, el("span", { class: "muted" })));
      $("#hands").append(hands.get(number));
    }
    const [who, , question] = hands.get(number).children;
    text(who, named(row, number));
    text(question, onTheWall() ? "" : row.question);
  }
  text($("#hands-count"), up.length);
}

function twin(now_ms) {
  const body = $("#table tbody");
  while (body.rows.length > Object.keys(rows).length) body.deleteRow(-1);
  Object.entries(rows).forEach(([number, row], at) => {
    const line = body.rows[at] ?? body.insertRow();
    while (line.cells.length < 8) line.insertCell();
    const lag = behind(row);
    const step = row.lab ? `${row.step} / ${row.steps}` : "–", late = row.strips.length && lag !== null ? lag : "–";
    const differs = row.differs ? `#${row.differs.seq}: ${differsWhy(row.differs)}` : "–", question = onTheWall() ? "" : row.question;
    tick(line.cells[0], number, named(row, number));
    const values = [named(row, number), stateWords(row, now_ms), row.lab ?? "–", step, late, question, differs];
    values.forEach((value, cell) => text(line.cells[cell + 1], value));
  });
}

/** The box of a line of the table: for who has no keyboard and no Ctrl key. */
function tick(cell, number, name) {
  const box = cell.querySelector("input") ?? cell.appendChild(el("input", { type: "checkbox" }));
  box.onchange = () => selection.toggle(number);
  box.checked = selection.has(number);
  attr(box, "aria-label", t("grid.select", { name }));
}

function open(number) {
  opened = number;
  for (const [other, node] of tiles.tiles) attr(node, "aria-current", other === number ? "true" : null);
  hide($("#student"), false);
  note.open(number);
  if (known) student(Date.now());
  $("#student-close").focus();
}

function close() {
  if (!opened) return;
  const tile = tiles.tiles.get(opened);
  opened = null;
  attr(tile ?? $("#tiles"), "aria-current", null);
  board.close();
  note.close();
  hide($("#student"), true);
  tile?.focus();
}

function student(now_ms) {
  const row = rows[opened];
  if (!row) return close();
  text($("#student-title"), named(row, opened));
  text($("#student-state"), [stateWords(row, now_ms), row.lab ? t("grid.step", row) : "", onTheWall() ? "" : row.question].filter(Boolean).join(" · "));
  hide($("#student-differs"), !row.differs);
  if (row.differs) text($("#student-differs"), differsWhy(row.differs));
  attr($("#take"), "aria-pressed", String(Boolean(row.acts)));
  text($("#take"), t(row.acts ? "grid.did.give_back" : "grid.did.take_over"));
  board.follow(row);
  note.follow(row.note);
  attr($("#student-open"), "href", row.root);
}

/** Who newly needs the teacher, at most one line in five seconds; counts do not speak. */
function speak(before) {
  if (performance.now() - spoke_ms < SPEAK_MS) return;
  for (const [number, row] of Object.entries(rows)) {
    const was = before[number]?.state;
    if (was === undefined || was === row.state || !["asking", "stuck"].includes(row.state)) continue;
    spoke_ms = performance.now();
    return say(t(row.state === "asking" ? "grid.hand" : "grid.newly_stuck", { name: named(row, number) }));
  }
}

function say(words) {
  $("#say").textContent = words;
}
