/* The first page: three live strips of the host's own sandbox, and three buttons that do something to it. */
import { refuse, setUpActions } from "./ask.js";
import { SandboxClock } from "./clock.js";
import { $, json } from "./dom.js";
import { setUpExplanations } from "./explain.js";
import { Painter } from "./frame.js";
import { History } from "./history.js";
import { setUpKeys } from "./keys.js";
import { Live } from "./live.js";
import { Pill } from "./pill.js";
import { QueueRows } from "./queue_rows.js";
import { nextWindow } from "./scale.js";
import { show } from "./shell.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { setUpTheme } from "./theme.js";
import { t } from "./words.js";

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
  const { act } = setUpActions({ root: config.root, can: [] });
  const rows = new QueueRows($("#rows"), $("#t-row"), { onSelect: () => {} });
  const keys = [...rows.rows.keys()];
  const history = new History("home");
  const captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));
  let members = {}, strips = null;

  show({ live, painter, config }, config.channels.board, (data, jump) => {
    const now = clock.now();
    members = data.members;
    const queues = Object.fromEntries(keys.filter((key) => data.queues[key]).map((key) => [key, data.queues[key]]));
    if (!rows.shorts.size) rows.sync(queues);
    strips = nextWindow(strips, Object.values(queues).map(reach).filter((lag) => lag !== null), performance.now(), now);
    shareWindow(strips.size);
    rows.paint({ queues, members }, { now, captions, jump, history });
  });

  const running = () => Object.values(members).find((member) => member.state === "running" && member.actor);
  const operations = {
    send: () => ({ action: "SendMessages", topic: config.topic, count: 50 }),
    slow: () => running() && { action: "ChangeActor", actor: running().actor, work_ms: "2000,4000" },
    crash: () => running() && { action: "CrashActor", actor: running().actor },
  };
  $("#hs-do").addEventListener("click", ({ target }) => {
    const button = target.closest("[data-do]");
    if (!button) return;
    const operation = operations[button.dataset.do]();
    if (operation) act(operation, button);
    else refuse(button, t("act.nobody"));
  });
  live.connect();
}
