/* Rebalance: channel `rebalance/…` onto queues, the members' assignments, and lanes between them; rounds and moves below. */
import { say } from "./announce.js";
import { $, $$, attr, cls, el, hide, oneOf, svg, text } from "./dom.js";
import { clock as clockText, duration } from "./format.js";
import { ago, left } from "./live_fields.js";
import { drawPlan } from "./plan_picture.js";
import { RebalanceLanes } from "./rebalance_lanes.js";
import { View } from "./rebalance_views.js";
import { drawRing } from "./ring.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const board = $("#believed"), lines = $("#lines"), minds = $("#minds"), form = $("#plan-form");
const page = startShell({ keys: { ArrowDown: () => step(1), ArrowUp: () => step(-1) } });
const { clock, config, painter } = page;
const lanes = board ? new RebalanceLanes($("#lanes"), board) : null;
let view = null, shape = "", history = "", troubled = null, planned = "";
const rows = new Map(), cards = new Map();

if (board && config.channels.rebalance) show(page, config.channels.rebalance, paint);
painter.every(tick);

function paint(data, jump) {
  view = new View(data, config.topic, clock.now());
  const now = `${view.keys}|${view.ids}`;
  if (now !== shape) build(now);
  view.ids.forEach(card);
  view.keys.forEach(line);
  if (lanes) lanes.moving = !jump;
  lanes?.paint(view, rows, cards);
  head();
  const past = `${Object.keys(data.rounds ?? {})}|${JSON.stringify(data.moves ?? {})}`;
  if (past !== history) below(past);
  plan();
  tick();
}

function build(now) {
  shape = now;
  keep(rows, lines, view.keys, $("#t-line"), "queue");
  keep(cards, minds, view.ids, $("#t-mind"), "key");
  hide($("#no-members"), view.ids.length > 0);
}

/** One node per key in this order; what is there already stays, and so does the focus. */
function keep(table, box, keys, template, name) {
  for (const node of $$(":scope > *", box)) table.set(node.dataset[name], node);
  for (const [key, node] of table) if (!keys.includes(key)) (node.remove(), table.delete(key));
  const ordered = keys.map((key) => {
    const node = table.get(key) ?? template.content.firstElementChild.cloneNode(true);
    node.dataset[name] = key;
    return [key, node];
  });
  table.clear();
  ordered.forEach(([key, node], i) => {
    table.set(key, node);
    if (box.children[i] !== node) box.insertBefore(node, box.children[i] ?? null);
  });
}

function line(key) {
  const row = view.line(key), node = rows.get(key);
  attr(node, "aria-label", row.sentence);
  for (const kind of ["twice", "nobody", "lingers", "waits"]) cls(node, `t-${kind}`, row.trouble === kind);
  text($(".id b", node), row.short);
  text($(".id small", node), row.broker);
  badges($(".held", node), row.held);
  node._row = row;
}

function badges(box, ids) {
  const now = ids.map((id) => `${id}${view.me(id)}`).join();
  if (box._now === now) return;
  box._now = now;
  box.replaceChildren(...ids.map((id) => el("span", { class: `badge ${view.me(id)}`, title: id }, view.who(id))));
}

function card(id) {
  const mind = view.mind(id), node = cards.get(id), state = mind.state ?? "";
  oneOf(node, "me-", mind.me);
  cls(node, "apart", mind.agrees === false);
  cls(node, "out", !["running", "starting", "hung", "stopping"].includes(state));
  attr(node, "aria-label", mind.who);
  text($(".badge", node), mind.letter);
  const link = $(".who", node);
  text(link, id);
  attr(link, "title", mind.who);
  if (!config.attached) attr(link, "href", `${config.root}clients/${encodeURIComponent(mind.who)}/`);
  text($(".state", node), state ? t(`state.${state}`) : "");
  cls($(".state", node), "bad", state !== "running" && state !== "starting");
  text($(".against", node), mind.against);
  const note = $(".note", node);
  text(note, mind.note);
  hide(note, !mind.note);
  for (const [name, value] of [["told", mind.told], ["has", mind.has], ["place", mind.place], ["mine", mind.mine], ["asked_ms", mind.asked_ms && clockText(mind.asked_ms, 0, { millis: false })], ["trigger", mind.trigger && t(`trigger.${mind.trigger}`)]]) text($(`[data-f=${name}]`, node), value ?? "–");
  node._mind = mind;
}

function head() {
  const bad = view.keys.filter((key) => view.data.queues[key].trouble);
  text($("#k-members"), view.known ? String(view.online.length) : "–");
  text($("#k-queues"), String(view.keys.length));
  text($("#k-trouble"), view.known ? String(bad.length) : "–");
  cls($("#k-troublebox"), "bad", bad.length > 0);
  const twice = bad.filter((key) => view.data.queues[key].trouble === "twice").map(view.queue).join(", ");
  if (troubled !== null && twice && twice !== troubled) say(`${twice}: ${t("trouble.twice")}`);
  troubled = twice;
  const apart = view.data.group?.apart?.length > 0;
  hide($("#apart"), !apart);
  if (apart) $("#apart-rows").replaceChildren(...view.ids.map((id) => el("li", {}, el("span", { class: `badge ${view.me(id)}` }, view.who(id)), " ", el("span", { class: "mono" }, view.members[id].strategy ?? "–"), " · ", el("span", { class: "mono" }, view.members[id].subscription?.[config.topic] ?? "–"))));
}

/** What only time changes: rings to the next round, ages of what is not settled. */
function tick() {
  if (!view) return;
  const now = clock.now(), lives = view.data.lives ?? {};
  let next = null;
  for (const [id, node] of cards) {
    const due = node._mind?.due_ms, ring = $(".ring", node), known = due !== null && due !== undefined;
    cls(ring, "off", !known);
    if (!known) continue;
    const rest = Math.max(0, due - now);
    if (view.members[id].state === "running") next = Math.min(next ?? Infinity, rest);
    drawRing(ring, { share: rest / lives.rebalance_ms, label: String(Math.ceil(rest / 1000)) });
    attr(ring, "aria-label", t("mind.due", { left: left(rest) }));
  }
  text($("#k-next"), next === null ? "–" : left(next));
  for (const node of rows.values()) {
    const row = node._row, since = row?.since_ms;
    text($(".since", node), row?.trouble && since ? ago(now - since) : "");
    text($(".said", node), row?.trouble ? (view.now = now, view.line(node.dataset.queue).said) : "");
  }
}

function below(past) {
  history = past;
  if (!$("#waves")) return; // a real cluster keeps no history
  const waves = view.waves(), moves = view.moves();
  hide($("#no-waves"), waves.length > 0);
  hide($("#no-moves"), moves.length > 0);
  $("#waves").replaceChildren(...waves.map(wave));
  $("#moves").replaceChildren(...moves.map(move));
}

const time = (ms) => clockText(ms, 0, { millis: false });
const fact = (seq, said, name) => el("a", { class: name, href: `${config.root}journal/#e${seq}` }, said);

function wave({ at_ms, seq, said, rounds }) {
  const title = el("p", { class: "head" }, el("time", { class: "num muted" }, time(at_ms)), " ", seq ? fact(seq, said, "") : el("span", {}, said));
  return el("li", { class: "wave" }, title, el("ol", {}, ...rounds.map((one) => {
    const bar = svg("svg", { class: "late", width: 104, height: 10, viewBox: "0 0 104 10", "aria-hidden": "true" });
    bar.append(svg("path", { d: "M0 5H100" }), svg("rect", { class: "route", y: 2, height: 6, width: one.route_share }), svg("rect", { class: "wait", x: one.route_share, y: 2, height: 6, width: one.rest_share }));
    return el("li", {}, el("span", { class: `badge ${one.me}` }, one.who), bar, fact(one.seq, `+${duration(one.late_ms)}`, "num lag"), el("span", { class: "change num" }, `+${one.added} −${one.dropped}`), el("span", { class: "muted trig" }, one.trigger ? t(`trigger.${one.trigger}`) : "–"));
  })));
}

function move(one) {
  const fromTo = el("span", { class: "fromto" }, one.from_who === "–" ? "–" : el("span", { class: `badge ${one.from_me}` }, one.from_who), " → ", el("span", { class: `badge ${one.to_me}` }, one.to_who));
  return el("tr", one.both ? { class: "both" } : {}, el("th", { scope: "row" }, one.queue), el("td", {}, fromTo), el("td", { class: "gap" }, one.gap), el("td", {}, one.said), el("td", { class: "num" }, fact(one.seq, time(one.at_ms), "")));
}

// A queue or a member by itself: hovered, focused, or stepped to.

for (const box of [lines, minds].filter(Boolean)) {
  const name = (target) => target.closest("[data-queue]")?.dataset.queue ?? target.closest("[data-key]")?.dataset.key ?? null;
  for (const event of ["pointerover", "focusin"]) box.addEventListener(event, ({ target }) => lanes?.choose(name(target)));
  for (const event of ["pointerleave", "focusout"]) box.addEventListener(event, () => lanes?.choose(null));
}

function step(by) {
  const all = [...rows.values()], at = all.indexOf(document.activeElement);
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
}

// What if: asked again when members or queues came or went.

form?.addEventListener("change", fields);
form?.addEventListener("submit", (event) => event.preventDefault());
if (form) fields();

function fields() {
  for (const box of $$("[data-for]", form)) {
    const wanted = box.dataset.for.split(" ").includes(form.elements.strategy.value);
    hide(box, !wanted);
    for (const input of $$("input", box)) input.disabled = !wanted;
  }
}

document.body.addEventListener("htmx:afterSwap", ({ detail: { target } }) => target.id === "plan" && drawPlan(target));

function plan() {
  const now = `${view.online}|${view.keys}|${view.data.group?.strategy}`;
  if (!form || now === planned || page.live.sleeps) return;
  const first = planned === "";
  planned = now;
  if (!form.contains(document.activeElement)) setTimeout(() => htmx.trigger(form, "rebalance:plan"), first ? 0 : 400);
}
