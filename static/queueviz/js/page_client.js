/* Client: channel `client/…` onto the page's rows. Countdowns run in the browser on timestamps; nothing travels for them. */
import { $, $$, attr, cls, el, hide, text } from "./dom.js";
import { emptyOr, Fields, step_ms } from "./live_fields.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const page = startShell(), { clock, config, painter } = page;
const fields = new Fields($("#main"), clock, { names: config.names, orders: { timers: config.timers } });
const TONES = { running: "ok", crashed: "bad", hung: "bad", refused: "bad" };
let shown = "";

if (config.channels.client) show(page, config.channels.client, paint);
painter.every(() => fields.data && fields.tick());

function paint(data) {
  fields.paint(data);
  const pill = $("#state");
  for (const tone of ["ok", "bad", "plain"]) cls(pill, tone, tone === (TONES[data.client.state] ?? "plain"));
  hide($("#gone"), data.client.lives);
  if ($("#process")) hide($("#process"), !data.client.lives); // no waits and no timers
  steps(data.steps ?? {});
  emptyOr("#waits", "#no-waits", !Object.keys(data.waits ?? {}).length);
  emptyOr("#pending", "#no-pending", !Object.keys(data.pending ?? {}).length);
  emptyOr("#queues", "#no-queues-held", !Object.keys(data.queues ?? {}).length);
  const more = $("#pending-more");
  if (more) text(more, data.pending_more ? t("queue.and_more", { n: data.pending_more }) : "");
}

/** Show the steps of a starting or stopping process one by one. */
function steps(rows) {
  const keys = Object.keys(rows);
  if (String(keys) === shown) return;
  shown = String(keys);
  const phases = new Map();
  for (const row of Object.values(rows)) phases.set(`${row.group}/${row.phase}`, [...(phases.get(`${row.group}/${row.phase}`) ?? []), row]);
  if (!phases.size) return;
  $("#no-steps")?.remove();
  for (const [key, found] of phases) {
    const list = phaseOf(key, found[0].phase), took = found.reduce((sum, row) => sum + row.took_ms, 0);
    text($("small", list.parentElement), step_ms(took));
    found.sort((a, b) => a.step - b.step);
    for (const row of found.slice(list.children.length)) list.append(stepItem(row));
  }
  for (const box of $$("#phases .phase")) if (!phases.has(box.dataset.phase)) box.remove();
}

function phaseOf(key, phase) {
  const known = $$("#phases .phase").find((box) => box.dataset.phase === key);
  if (known) return $("ol", known);
  const list = el("ol", { class: "steps" });
  $("#phases").append(el("div", { class: "phase", "data-phase": key }, el("h3", {}, t(`phase.${phase}`), " ", el("small", { class: "muted num" })), list));
  return list;
}

function stepItem(row) {
  const item = el("li", { class: row.took_ms ? "" : "quick" }, el("i", { class: "bar", "aria-hidden": "true" }), el("b", { class: "no num" }, String(row.step)), el("span", { class: "name" }, t(`step.${row.name}`)), el("span", { class: "ms num" }, step_ms(row.took_ms)));
  attr(item, "style", `--ms:${row.took_ms}`);
  const no = config.numbers[row.name];
  if (no) item.append(el("small", { class: "muted" }, t("step.of_sixteen", { n: no })));
  return item;
}
