/* Two runs side by side, at one time since the action: the board of each, with one scale for both, the newest fact, and
   their differences in time order. */
import "./page_what_if.js";
import { ComparedLine, sinceText } from "./compared_line.js";
import { differences } from "./compared_facts.js";
import { $, $$, around, attr, el, json, text } from "./dom.js";
import { number } from "./format.js";
import { QueueRows } from "./queue_rows.js";
import { queueRows } from "./queue_table.js";
import { Recording } from "./recording.js";
import { windowFor } from "./scale.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { sentence, t } from "./words.js";

const none = { of: () => [] };
const captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));

const MOST_DIFFERENCES = 30; // in the table, the first
const { sides, runs, names, action_ms, first_ms, before_ms, after_ms } = json("compared");
const who = (id) => names[id] ?? String(id).split("#")[0];
const said = (row) => sentence(row, who, (key) => key);

class Side {
  constructor(element, recording, facts) {
    this.element = element;
    this.recording = recording;
    this.facts = facts;
    this.list = new QueueRows($(".rows", element), $("#t-row"), { onSelect: () => {} });
  }

  static async open(element, packed) {
    const recording = await Recording.of(Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)));
    const facts = await recording.facts(...recording.about.seq);
    return new Side(element, recording, facts.map((row) => ({ ...row, ms: Number(row.at_ms) - action_ms })));
  }

  async frame(ms) {
    const { seq, at_ms, state } = await this.recording.atTime(action_ms + ms), board = Object.values(state.channels)[0] ?? { queues: {}, members: {} };
    return { seq, at_ms, board: { ...board, queues: board.queues ?? {}, members: board.members ?? {} } };
  }

  paint({ seq, at_ms, board }, ms) {
    text($("[data-seq]", this.element), `#${number(seq)}`);
    const fact = this.facts.findLast((one) => one.ms <= ms);
    text($("[data-newest]", this.element), fact ? said(fact) : "");
    this.list.sync(board.queues);
    this.list.paint(board, { now: at_ms, captions, jump: true, history: none });
    $("tbody", this.element).replaceChildren(...queueRows(board));
  }
}

/** The table of what only one run has. */
function drawDifferences(facts) {
  const body = $("#dif");
  if (!body) return;
  const all = differences(facts.map((rows) => rows.map((row) => ({ ...row, said: said(row) }))));
  body.replaceChildren(...all.slice(0, MOST_DIFFERENCES).map(({ ms, texts }) => el("tr", {},
    el("th", { scope: "row", class: "num" }, t("compare.at", { s: (ms / 1000).toFixed(1) })), ...texts.map((one, run) => el("td", { "data-run": runs[run] }, one || t("compare.none"))))));
  const more = all.length - MOST_DIFFERENCES;
  text($("#dif-rest"), more > 0 ? t("compare.more", { n: more }) : "");
}

async function begin() {
  const shown = await Promise.all($$(".side").map((element, at) => Side.open(element, sides[at])));
  const step_ms = shown[0].recording.about.pace_ms;
  const line = new ComparedLine($("#line"), { from: -before_ms, to: after_ms, step: step_ms, onChange: (ms) => go(ms) });
  let asked = 0;
  /** @type {number | null} */
  let playing = null;

  async function show(ms) {
    const mine = ++asked, frames = await Promise.all(shown.map((side) => side.frame(ms)));
    if (mine !== asked) return;
    shareWindow(windowFor(frames.flatMap(({ board }) => Object.values(board.queues).map(reach)).filter((lag) => lag !== null)));
    shown.forEach((side, at) => side.paint(frames[at], ms));
    text($("#since"), sinceText(ms));
  }

  function go(ms) {
    pause();
    line.set(ms);
    void show(line.ms);
  }

  function pause() {
    if (playing !== null) clearInterval(playing);
    playing = null;
    attr($("#play"), "data-plays", "false");
    attr($("#play"), "aria-label", t("player.play"));
  }

  function play() {
    if (playing !== null) return pause();
    if (line.ms >= after_ms) line.set(-before_ms);
    attr($("#play"), "data-plays", "true");
    attr($("#play"), "aria-label", t("player.pause"));
    playing = setInterval(() => {
      line.set(line.ms + step_ms);
      void show(line.ms);
      if (line.ms >= after_ms) pause();
    }, step_ms);
  }

  const acts = {
    "#play": play,
    "#prev": () => go(line.step(-1)),
    "#next": () => go(line.step(1)),
    "#parted": () => go((Math.floor((first_ms - action_ms) / step_ms) + 1) * step_ms),
  };
  for (const [id, act] of Object.entries(acts)) $(id)?.addEventListener("click", act);
  const keys = { " ": play, ",": acts["#prev"], ".": acts["#next"] };
  document.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || (event.key === " " && around(event.target, "button, summary, a"))) return;
    event.preventDefault();
    act();
  });
  line.show(shown.map(({ facts }) => facts));
  drawDifferences(shown.map(({ facts }) => facts));
  go(after_ms);
}

if (sides.every(Boolean)) void begin();
