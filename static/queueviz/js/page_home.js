/* The first page: the live board of the host's own sandbox, and a suggested click that does something to it. */
import { refuse, setUpActions } from "./ask.js";
import { SandboxClock } from "./clock.js";
import { $, $$, json } from "./dom.js";
import { setUpExplanations } from "./explain.js";
import { setUpFindingMarks } from "./finding_marks.js";
import { keepFindingsFresh } from "./finding_pace.js";
import { Painter } from "./frame.js";
import { History } from "./history.js";
import { HomeCards } from "./home_cards.js";
import { setUpKeys } from "./keys.js";
import { Lanes } from "./lanes.js";
import { Live } from "./live.js";
import { Pill } from "./pill.js";
import { QueueRows } from "./queue_rows.js";
import { nextWindow } from "./scale.js";
import { show, touchFindings } from "./shown_channels.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { SuggestedClick } from "./suggested_click.js";
import { setUpTheme } from "./theme.js";
import { t } from "./words.js";

const AGAIN_MS = 10000; // between two questions of one visitor: many look at this page
const SPREAD_MS = 2000; // in which all visitors fetch a finding that has opened

const { theme } = setUpTheme();
setUpKeys({ t: theme });
const config = json("live");
if (config?.channels?.board) start();

function start() {
  const clock = new SandboxClock(), painter = new Painter(), live = new Live(clock);
  clock.hear(config.at_ms, config.rate);
  live.seq = config.seq;
  new Pill(live, painter);
  setUpExplanations(config);
  setUpFindingMarks();
  keepFindingsFresh({ painter, clock }, AGAIN_MS);
  const { act } = setUpActions({ root: config.root, can: [], followed: "#try-said" });
  const rows = new QueueRows($("#rows"), $("#t-row"), { onSelect: () => {} });
  const cards = new HomeCards($("#consumers"), $("#t-card"), null);
  const lanes = new Lanes($("#lanes"), $("#board"), rows, cards);
  const suggested = new SuggestedClick({ act, clock, live });
  const keys = [...rows.rows.keys()];
  const history = new History("home");
  const captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));
  let data = { queues: {}, members: {} }, strips = null;

  show({ live, painter, config }, config.channels.board, (whole, jump) => {
    const now = clock.now(), queues = Object.fromEntries(keys.filter((key) => whole.queues[key]).map((key) => [key, whole.queues[key]]));
    data = { ...whole, queues };
    if (!rows.shorts.size) rows.sync(queues);
    strips = nextWindow(strips, Object.values(queues).map(reach).filter((lag) => lag !== null), performance.now(), now);
    shareWindow(strips.size);
    rows.paint(data, { now, captions, jump, history });
    if (cards.sync(data.members)) lanes.watchCards();
    cards.paint(data, now, rows.shorts);
    if (!lanes.size) requestAnimationFrame(() => lanes.layout());
    lanes.paint(data, jump);
    suggested.paint(data.members);
  });
  painter.every(() => {
    rows.tick(data, clock.now());
    cards.paint(data, clock.now(), rows.shorts);
  });
  setInterval(() => lanes.hold(live.status !== "connected" || clock.rate === 0), 300);
  live.follow(config.facts, {
    rows: (facts) => touchFindings(facts) && setTimeout(() => document.body.dispatchEvent(new CustomEvent("queueviz:findings")), Math.random() * SPREAD_MS),
  }, { after: config.seq });

  const slowest = () => Object.values(data.members).findLast(({ state, actor }) => state === "running" && actor);
  const others = {
    send: { of: () => ({ action: "SendMessages", topic: config.topic, count: 50 }), said: () => t("home.sent") },
    slow: { of: (member) => member && { action: "ChangeActor", actor: member.actor, work_ms: "2000,4000" }, said: (member) => t("home.slowed", { who: member.actor }) },
  };
  for (const button of $$("[data-do]")) {
    const { of, said } = others[button.dataset.do];
    let member = null;
    button.addEventListener("click", () => {
      member = slowest();
      const operation = of(member);
      if (operation) act(operation, button);
      else refuse(button, t("act.no_member"));
    });
    button.addEventListener("queueviz:acted", () => suggested.say(said(member)));
  }
  live.connect();
}
