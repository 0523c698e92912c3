/* Topology: channel `topology/…` onto boxes, rings and lines. Rings run on timestamps; nothing travels while they shrink,
   and a dash runs along a line only for a command on it. */
import { $, $$, around, attr, cls, oneOf, text } from "./dom.js";
import { bytes } from "./format.js";
import { Fields } from "./live_fields.js";
import { drawRing } from "./ring.js";
import { show, startShell } from "./shell.js";
import { offeredKey, panelOf, ringOf, shapeOf } from "./topology.js";
import { Lines } from "./topology_lines.js";
import { t } from "./words.js";

const ROUTES = new Set("RouteChanged TopicChanged NameServerStarted NameServerStopped BrokerStarted BrokerStopped".split(" "));
const map = $("#map"), panel = $("#panel"), routes = $("#route-form");
const page = startShell({ onFacts: (facts) => facts.some((fact) => ROUTES.has(fact.type)) && askRoutes() });
const { clock, config, painter } = page;
const lines = new Lines(map, config), fields = new Fields(panel, clock, { names: config.names });
let latest = null, asked = null, offered = null, rings = [], pending = null;

reset();
if (config.channels.topology) show(page, config.channels.topology, paint);
painter.every(tick);
addEventListener("load", () => routes && htmx.trigger(routes, "topology:routes"));

function paint(data, jump) {
  latest = data;
  const shape = shapeOf(data);
  if (shape !== $(".mapnodes", map).dataset.shape && shape !== asked) {
    asked = shape; // once for each: the server may be a moment behind
    htmx.trigger(map, "topology:shape");
  }
  for (const box of $$("[data-box]", map)) state(box, data);
  lines.paint(data, jump);
  chosen(data);
  tick();
}

function state(box, data) {
  const names = JSON.parse(box.dataset.nodes), rows = names.map((name) => data.name_servers[name] ?? data.brokers[name] ?? data.clients[name]).filter(Boolean);
  if (!rows.length) return;
  const worst = rows.find((row) => row.state !== "running") ?? rows[0], [row] = rows;
  oneOf(box, "is-", `is-${worst.state}`);
  text($(".state i", box), config.signs[worst.state] ?? "?");
  text($(".state span", box), t(`node.${worst.state}`));
  if (box.dataset.kind === "broker") {
    for (const role of ["master", "slave"]) cls(box, role, row.role === role);
    text($("small", box), t(`role.${row.role}`));
    text($(".more", box), row.behind !== null ? `${bytes(row.behind)} ${t("topology.behind")}` : row.replica === "lost" ? t("topology.alone") : "");
  }
}

function tick() {
  if (!latest) return;
  const now = clock.now();
  for (const { figure, ring, says, server, broker } of rings) {
    const node = latest.name_servers[server];
    if (node?.state !== "running") continue;
    const drawn = ringOf(server, broker, latest.views[`${server}~${broker}`], latest.lives, node.next_scan_ms, now, config.late_ms);
    const due = 1 - latest.lives.register_ms / latest.lives.expiry_ms;
    drawRing(ring, { share: drawn.share, label: drawn.label, renew: drawn.tone === "none" || drawn.tone === "known" ? null : due });
    for (const tone of ["ok", "late", "none", "known"]) cls(figure, tone, tone === drawn.tone);
    text(says, drawn.says);
    attr(ring, "aria-label", drawn.sentence);
  }
  if (fields.data) fields.tick();
}

/** The boxes came anew from the server. */
function reset() {
  rings = $$("[data-ring]", map).map((figure) => {
    const [server, broker] = figure.dataset.ring.split("~");
    return { figure, ring: $(".ring", figure), says: $(".says", figure), server, broker };
  });
  lines.reset();
  mark();
}

// The panel.

function choice() {
  return $("[data-panel]", panel)?.dataset.panel ?? null;
}

function chosen(data) {
  const name = choice(), found = name && panelOf(data, name);
  if (!found) return;
  fields.paint(found);
  const key = offeredKey(data, name);
  if (offered !== null && offered !== key) open(name, { quietly: true });
  offered = key;
}

/** `name`: a node, a link `a~b`, or clients that stand together. */
function open(name, { quietly = false } = {}) {
  const query = name.includes("~") && !name.startsWith("group:") ? "link" : "node";
  const past = config.replay ? `&at=${config.replay.at}` : "", address = `?${query}=${encodeURIComponent(name)}${past}`;
  if (!quietly) history.replaceState(null, "", address);
  pending = { quietly, id: panel.contains(document.activeElement) ? document.activeElement?.id : null };
  htmx.ajax("GET", `${config.root}part/topology-panel/${address}`, { target: panel, swap: "innerHTML" });
}

function mark() {
  for (const box of $$("[data-box]", map)) cls(box, "on", box.dataset.box === choice());
}

document.body.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  if (target === map) {
    reset();
    if (latest) paint(latest, true);
    $(`[data-box="${CSS.escape(map._at ?? "")}"] .node`, map)?.focus();
  } else if (target === panel) {
    offered = null;
    mark();
    if (latest) chosen(latest);
    if (!pending?.quietly) $("#panel-h")?.focus({ preventScroll: matchMedia("(min-width: 1181px)").matches });
    else if (pending.id !== null) (document.getElementById(pending.id) ?? $("#panel-h"))?.focus();
    pending = null;
  }
});
document.body.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target === map) map._at = around(document.activeElement, "[data-box]")?.dataset.box ?? null;
});

document.body.addEventListener("click", (event) => {
  const node = around(event.target, "[data-choose]"), link = around(event.target, "[data-link]");
  if (event.ctrlKey || event.metaKey || !(node ?? link)) return;
  event.preventDefault();
  open(node ? node.dataset.choose : (link.closest("[data-key]")?.dataset.key ?? link.dataset.link));
});

// Routes.

let soon = null;
function askRoutes() {
  clearTimeout(soon);
  soon = setTimeout(() => routes && htmx.trigger(routes, "topology:routes"), 300);
}

// Arrow keys go to the nearest box that way.

const WAYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

map.addEventListener("keydown", (event) => {
  const from = event.target.closest("[data-box]"), way = WAYS[event.key];
  if (!from || !way || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  const at = middle(from), [dx, dy] = way;
  let best = null, least = Infinity;
  for (const box of $$("[data-box]", map)) {
    const to = middle(box), along = (to.x - at.x) * dx + (to.y - at.y) * dy, aside = Math.abs((to.x - at.x) * dy) + Math.abs((to.y - at.y) * dx);
    if (box === from || along < 4 || along + 2 * aside >= least) continue;
    [best, least] = [box, along + 2 * aside];
  }
  $(".node", best ?? from).focus();
});

function middle(box) {
  const { left, top, width, height } = box.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}
