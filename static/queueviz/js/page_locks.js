/* Locks: channel `locks/…` onto a matrix of rings. Arcs run on two timestamps; no frame travels while they shrink. */
import { Cards } from "./consumer_cards.js";
import { $, $$, attr, calm, cls, el, oneOf, text } from "./dom.js";
import { downBrokers, downWait, knownText } from "./down_brokers.js";
import { clock as clockText, duration, remaining } from "./format.js";
import { colour, inOrder, lettersOf, parts, shortId, shortNames } from "./names.js";
import { drawLock } from "./ring.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const page = startShell({ keys: { ArrowRight: () => cards?.step(1), ArrowLeft: () => cards?.step(-1) } });
const { clock, config, painter } = page;
const body = $("#lock-rows"), template = $("#t-ring");
const cards = $("#lock-members") ? new Cards($("#lock-members"), $("#t-card"), null) : null;
let locks = null, shape = "", shorts = new Map(), lastAttempt = null;

if (config.channels.locks && body) show(page, config.channels.locks, paint);
painter.every(() => {
  if (!locks) return;
  const now = clock.now();
  rings(now);
  cards?.paint(boardLike(locks), now, shorts); // the same second on a card as in a ring
});

function paint(data, jump) {
  locks = data;
  data.queues ??= {};
  data.members ??= {};
  const keys = inOrder(Object.keys(data.queues)), members = Object.keys(data.members).sort((a, b) => ((data.members[a].letter ?? a) < (data.members[b].letter ?? b) ? -1 : 1));
  const now = clock.now();
  if (`${keys}|${members}` !== shape) build(data, keys, members);
  cards?.sync(data.members);
  cards?.paint(boardLike(data), now, shorts);
  for (const key of keys) line(key, data, members);
  for (const [name, ms] of Object.entries(data.lives ?? {})) if ($(`[data-life="${name}"]`)) text($(`[data-life="${name}"]`), duration(ms));
  downs(data);
  rings(now);
  attempts(data, jump);
}

function downs(data) {
  const said = downBrokers(data.queues), list = $("#downs"), lines = said.length ? [...said, knownText(data.known)] : [];
  list.hidden = !lines.length;
  if (lines.join("\n") !== [...list.children].map((item) => item.textContent).join("\n")) list.replaceChildren(...lines.map((words) => el("li", {}, words)));
}

/** Cards read queues as the Board has them: who is assigned, who holds the lock. */
const boardLike = (data) => ({ members: data.members, queues: Object.fromEntries(Object.entries(data.queues).map(([key, row]) => [key, { ...row, owner: row.consuming?.client_id ?? null }])) });

function build(data, keys, members) {
  shape = `${keys}|${members}`;
  shorts = shortNames(keys);
  const head = $("#matrix thead tr"), rest = $$("th:not([data-member])", head).slice(-2);
  for (const cell of $$("[data-member]", head)) cell.remove();
  for (const id of members) rest[0].before(el("th", { scope: "col", "data-member": id, class: colour(data.members[id]), title: shortId(id) }, el("span", { class: "badge" }, data.members[id].letter ?? "?")));
  body.replaceChildren(...keys.map((key) => el("tr", { "data-queue": key },
    el("th", { scope: "row" }, el("b", {}, shorts.get(key)), el("small", {}, parts(key).broker)),
    ...members.map((id) => el("td", { "data-member": id, class: colour(data.members[id]) })),
    el("td", { class: "consuming" }), el("td", { class: "waiting" }))));
}

function line(key, data, members) {
  const row = data.queues[key], node = body.querySelector(`[data-queue="${CSS.escape(key)}"]`), lock = row.lock;
  const lost = Boolean(downWait(row)) || !["running", "hung"].includes(data.brokers?.[parts(key).broker] ?? "running");
  node._cells ??= new Map($$("[data-member]", node).map((cell) => [cell.dataset.member, cell]));
  cls(node, "stale", Boolean(lock) && lock.holder !== row.assigned);
  cls(node, "lost", lost);
  for (const id of members) {
    const cell = node._cells.get(id), wanted = lock?.holder === id && !lost ? "ring" : row.assigned === id && lock?.holder !== id ? "wants" : "";
    oneOf(cell, "me-", colour(data.members[id]));
    if (cell._kind === wanted) continue;
    cell._kind = wanted;
    if (wanted === "ring") cell.replaceChildren(template.content.firstElementChild.cloneNode(true));
    else if (wanted === "wants") cell.replaceChildren(el("span", { class: "wants badge", title: t("lock.waits") }, data.members[id].letter ?? "?"));
    else cell.replaceChildren();
  }
  node._consuming ??= $(".consuming", node);
  const now = row.consuming;
  const said = downWait(row) || (lost ? t("lock.lost") : now ? t("lock.consuming", { key: now.key ?? now.offset, thread: now.thread }) : row.suspended_until_ms > clock.now() ? t("lock.suspended", { left: duration(row.suspended_until_ms - clock.now()) }) : "–");
  text(node._consuming, said);
  node._waiting ??= $(".waiting", node);
  text(node._waiting, config.attached ? "–" : (row.waiting ?? []).map((id) => data.members[id]?.letter ?? shortId(id)).join(", "));
}

function rings(now) {
  const lives = locks.lives ?? { broker_ms: 60000, client_ms: 30000, renew_ms: 20000 };
  for (const ring of body.querySelectorAll(".ring")) {
    const row = locks.queues[ring.closest("tr").dataset.queue];
    if (!row?.lock) continue;
    const holder = locks.members[row.lock.holder], stale = row.lock.holder !== row.assigned;
    cls(ring, "stale", stale);
    const left = drawLock(ring, row.lock, { now, lives, stale: stale && ring.matches(":hover"), letter: holder?.letter ?? "?" });
    attr(ring, "aria-label", t("lock.sentence", { who: holder?.letter ?? row.lock.holder, left: remaining(left ?? 0) }));
  }
}

function attempts(data, jump) {
  const given = data.attempts ?? {}, numbers = Object.keys(given).sort((a, b) => given[b].at_ms - given[a].at_ms || (a < b ? 1 : -1)), newest = numbers[0];
  if (newest === undefined || newest === lastAttempt) return;
  const fresh = lastAttempt === null || jump ? [] : numbers.slice(0, Math.max(0, numbers.indexOf(lastAttempt)));
  lastAttempt = newest;
  const names = shortNames([...Object.keys(data.queues), ...numbers.map((n) => given[n].queue)]);
  const letter = (id) => lettersOf(data.members, id) || (id ? shortId(id) : "–"); // a request names a client id
  $("#attempts").replaceChildren(...numbers.slice(0, 40).map((n) => {
    const a = data.attempts[n];
    return el("li", { class: a.granted ? "granted" : "denied" }, el("time", { class: "num muted" }, clockText(a.at_ms, 0, { millis: false })), el("span", { class: `badge ${colour(data.members[a.client_id])}` }, letter(a.client_id)), el("b", {}, names.get(a.queue)), el("span", {}, a.granted ? t("lock.granted") : t("lock.denied", { who: letter(a.holder), left: duration(a.left_ms) })));
  }));
  if (calm()) return;
  for (const n of fresh) if (!data.attempts[n].granted) shake(data.attempts[n]);
}

/** A refused attempt shakes the padlock it ran into, once. */
function shake({ queue, client_id }) {
  const cell = body.querySelector(`[data-queue="${CSS.escape(queue)}"] [data-member="${CSS.escape(client_id)}"] .wants`);
  cell?.animate([{ transform: "translateX(-2px)" }, { transform: "translateX(2px)" }, { transform: "none" }], { duration: 180 });
}
