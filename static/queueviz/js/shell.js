/* Common parts of all sandbox pages: theme, projector, connection, transport, journal, keys. A page adds its own board. */
import { answered, reached, setUpActions, openAsk, toast, unanswered } from "./ask.js";
import { say } from "./announce.js";
import { SandboxClock } from "./clock.js";
import { $, json } from "./dom.js";
import { Painter } from "./frame.js";
import { number } from "./format.js";
import { setUpKeys } from "./keys.js";
import { needed, once } from "./later.js";
import { Live } from "./live.js";
import { Pill } from "./pill.js";
import { Scrubber } from "./scrubber.js";
import { touchFindings } from "./shown_channels.js";
import { setUpTwin } from "./table_twin.js";
import { setUpTheme } from "./theme.js";
import { Transport } from "./transport.js";
import { queueOf, sentence, t } from "./words.js";

export { show } from "./shown_channels.js";

const SHAPE = new Set("BrokerStarted BrokerStopped NameServerStarted NameServerStopped DiskChanged TopicChanged ActionTaken".split(" "));
const SILENT = new Set(["asleep", "stopped"]); // the page says it elsewhere: in its head, in the finding
const SLEEP = new Set(["SandboxSlept", "SandboxWoken"]);

/**
 * @param {object} [options]
 * @param {(facts: any[], about: { gap: any, whole: boolean }) => void} [options.onFacts]
 * @param {Record<string, (event: any) => void>} [options.keys]
 * @param {string | null} [options.after] the event before the first that is wanted
 */
export function startShell({ onFacts = () => {}, keys = {}, after = "0" } = {}) {
  const config = json("live"), clock = new SandboxClock(), painter = new Painter(), live = new Live(clock);
  const app = $(".app");
  if (config.at_ms) clock.hear(config.at_ms, config.rate, null, config.reached_rate);
  live.seq = config.seq;
  if (config.machine_ms) live.hearWall(config.machine_ms);
  if (config.state && config.state !== "live") clock.hold(), live.shownOld(config.state);
  const actions = setUpActions({ root: config.root, time: clock, can: (app?.dataset.can ?? "").split(" ") });
  new Pill(live, painter);
  const scrubber = new Scrubber();
  const transport = new Transport({ live, clock, painter, act: actions.act });
  const twin = setUpTwin();
  const { theme, projector } = setUpTheme();

  let first = true, last = null, gap = null; // between two numbers: what was not sent
  live.follow(config.facts, {
    rows(rows, from) {
      if (from !== null && last !== null && BigInt(from) > BigInt(last) + 1n) gap = { after: last, before: from };
      if (!rows.length) return onFacts(rows, { gap: null, whole: from === null });
      last = rows.at(-1).seq;
      if (BigInt(last) > BigInt(live.seq)) live.seq = last;
      reached(last);
      if (!first) transport.missed(rows.length);
      scrubber.add(rows);
      live.dispatchEvent(new CustomEvent("facts", { detail: rows }));
      if (!first && rows.findLast((row) => SLEEP.has(row.type))?.type === "SandboxWoken") live.again();
      if (!first && rows.some((row) => row.type === "BrokerStarted")) live.again();
      onFacts(rows, { gap, whole: from === null });
      gap = null;
      for (const row of rows) if (!first) judge(row);
      for (const row of rows) if (!first && row.type === "OffsetsReset" && row.method !== "undo" && actions.can("reset") && !config.attached) offerUndo(row);
      if (!first && (clock.rate === 0 || touchFindings(rows))) document.body.dispatchEvent(new CustomEvent("queueviz:findings"));
      if (!first && rows.some((row) => SHAPE.has(row.type) || row.reason === "disk")) document.body.dispatchEvent(new CustomEvent("queueviz:shape"));
      first = false;
    },
  }, { after });
  painter.every(() => {
    const now = clock.now();
    if (Math.abs(now - (scrubber.now ?? 0)) > 1000) scrubber.paint(now);
  });
  const offerUndo = (row) =>
    toast(t("say.reset", { group: row.group }), { label: t("reset.undo"), act: (button) => actions.act({ action: "UndoReset", reset_id: row.reset_id }, button) });
  live.addEventListener("ended", ({ detail }) => SILENT.has(detail) || live.ended || toast(t(`end.${detail}`)));
  live.addEventListener("reopened", answered);
  const explain = once(() => import("./explain.js"), ({ setUpExplanations }, { target }) => setUpExplanations(config, target));
  for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, (event) => $("[data-why], .differs") && explain(event));
  const has = (selector, key, act) => ($(selector) ? { [key]: act } : {});
  const pressed = setUpKeys({
    "?": () => openAsk("help"),
    " ": () => transport.freeze(!painter.frozen),
    ...has("#world:enabled", "Shift+Space", () => transport.stopWorld()),
    ...has("#step:enabled", ".", () => $("#step").click()),
    l: () => transport.freeze(false),
    t: theme,
    p: projector,
    ...has("#twin", "Shift+T", twin),
    ...has("[data-reset]", "r", () => $("[data-reset]").click()),
    ...has("[data-ask=fault]:enabled", "f", () => openAsk("fault")),
    ...keys,
  });
  if (!config.replay) live.connect();
  if (config.replay?.at !== undefined) needed(() => import("./replay_view.js"), () => unanswered(document.body)).then((it) => it.startReplayView({ config, clock, keys: pressed }));
  const page = (globalThis.queueviz = { config, clock, painter, live, actions, transport, keys: pressed }); // for the console
  if ($("#class-bands")) needed(() => import("./class_bands.js"), () => unanswered(document.body)).then((it) => it.setUpBands(page));
  return page;
}

/** Announced events. Their texts come from the journal's facts, not from changes on screen. */
function judge(row) {
  const queue = row.broker === undefined ? "" : queueOf(row);
  if (row.type === "QueueLocked" && row.how === "taken_over") say(t("say.lock", { queue, who: row.client_id }));
  else if (row.type === "MemberStateChanged" && row.state === "crashed") say(t("say.crashed", { who: row.client_id }));
  else if (row.type === "MemberStateChanged" && row.state === "hung") say(t("say.hung", { who: row.client_id }));
  else if (row.type === "CrashRepeated") say(t("say.repeated", { n: number(row.count), who: row.client_id }));
  else if (row.type === "MessagePinned") say(t("say.pinned", { queue, key: row.key }));
  else if (row.type === "FindingOpened" && !row.because_of && row.severity !== "info") say(sentence(row, String));
  else if (row.type === "OffsetsReset") say(t("say.reset", { group: row.group }));
}

