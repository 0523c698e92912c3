/* Store: the whole log as one line, its end as a tape, entries of one queue, and the files; a record is fetched when chosen. */
import { $, $$, around, attr, cls, el, svg } from "./dom.js";
import { number } from "./format.js";
import { FrameBytes } from "./frame_bytes.js";
import { Fields } from "./live_fields.js";
import { show, startShell } from "./shell.js";
import { Tape } from "./tape.js";
import { t } from "./words.js";

const ENTRIES = 12, WORDS = 190, STUB = 22, TOP = 22, THICK = 14;

const page = startShell({ keys: { ArrowDown: () => step(1), ArrowUp: () => step(-1) } });
const { clock, config, painter } = page;
const picker = $("#queue"), record = $("#record"), list = $("#entries"), span = $("#span");
const tape = $("#tape") ? new Tape($("#tape"), $("#tape-topics")) : null, fields = new Fields($("#main"), clock);
let store = null, disk = null, queue = config.queue ?? null, newest = "";

if (tape && config.channels.store) show(page, config.channels.store, (data) => ((store = data), log()));
if (tape && config.channels.disk) show(page, config.channels.disk, (data) => ((disk = data), files()));
painter.every(() => fields.data && fields.tick());
if (record) new FrameBytes(record);
if (span) new ResizeObserver(() => whole()).observe(span);

function log() {
  const at = (queue ?? "").lastIndexOf("/"), topic = queue?.slice(0, at), id = queue?.slice(at + 1);
  tape?.update(store, { queue: queue ? `${config.broker}:${id}` : null, topic });
  const mine = Object.entries(store.records ?? {}).filter(([, row]) => row.topic === topic && String(row.queue_id) === id).sort(([a], [b]) => (BigInt(a) < BigInt(b) ? 1 : -1)).slice(0, ENTRIES);
  const now = `${queue}|${mine.map(([place]) => place)}`;
  if (now === newest) return;
  newest = now;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.at;
  list.replaceChildren(...mine.map(([place, row]) => el("li", {}, el("button", { class: "opens", type: "button", "data-at": place }, el("b", { class: "num" }, number(row.queue_offset)), el("span", { class: "mono" }, row.key ?? row.tags ?? "–"), el("span", { class: "num muted" }, `→ ${number(place)}`)))));
  if (focused) list.querySelector(`[data-at="${focused}"]`)?.focus();
  $("#no-entries").hidden = mine.length > 0;
  chosen(record.dataset.at);
}

function files() {
  const { log: places } = disk;
  const loose = String(BigInt(places.max) - BigInt(places.flushed)), behind = places.replicated === null ? null : String(BigInt(places.max) - BigInt(places.replicated));
  fields.paint({ ...disk, figures: { ...places, loose, behind } });
  whole();
}

/** Deleted, flushed, page cache only; where files begin, where memory does, how far a slave has followed. */
function whole() {
  if (!disk || !span?.clientWidth) return;
  const { min, max, flushed, replicated, memory } = disk.log, width = span.clientWidth, low = BigInt(min), all = Number(BigInt(max) - low) || 1;
  const x = (place) => STUB + (Number(BigInt(place) - low) / all) * (width - STUB - 12), nodes = [];
  attr(span, "viewBox", `0 0 ${width} 56`);
  attr(span, "aria-label", t("store.span", { min: number(min), max: number(max), flushed: number(flushed), memory: number(memory) }));
  if (low > 0n) nodes.push(svg("rect", { class: "gone", x: 0, y: TOP, width: STUB, height: THICK, rx: 3 }));
  nodes.push(svg("rect", { class: "safe", x: x(min), y: TOP, width: Math.max(0, x(flushed) - x(min)), height: THICK }), svg("rect", { class: "soft", x: x(flushed), y: TOP, width: Math.max(0, x(max) - x(flushed)), height: THICK }));
  for (const name of Object.keys(disk.commitlog)) if (BigInt(name) > low) nodes.push(svg("path", { class: "cut", d: `M${x(String(BigInt(name))).toFixed(1)} ${TOP - 3}v${THICK + 6}` }));
  let said = -Infinity; // where words stand above the line: the next must not run into them
  const mark = (place, kind, above, anchor) => {
    const at = x(place), y = above ? TOP - 8 : TOP + THICK + 14;
    nodes.push(svg("path", { class: `mark ${kind}`, d: `M${at.toFixed(1)} ${above ? TOP - 5 : TOP}v${THICK + 5}` }));
    if (above && Math.abs(at - said) < WORDS) return;
    if (above) said = at;
    nodes.push(svg("text", { class: kind, x: at, y, "text-anchor": anchor }, `${t(`store.${kind}`)} ${number(place)}`));
  };
  mark(min, "min", false, "start");
  mark(max, "max", false, "end");
  if (BigInt(memory) > low) mark(memory, "memory", true, x(memory) > width / 2 ? "end" : "start");
  else if (BigInt(flushed) < BigInt(max)) mark(flushed, "flushed", true, "end");
  if (replicated !== null && replicated !== max) mark(replicated, "replicated", true, "end");
  span.replaceChildren(...nodes);
}

// A record: clicked on the tape or in the list.

function open(at) {
  record.dataset.at = at;
  chosen(at);
  htmx.ajax("GET", `${config.root}ask/read-record/?${new URLSearchParams({ broker: config.node, physical_offset: at })}`, { target: record, swap: "innerHTML" });
}

function chosen(at) {
  for (const node of $$("[data-at]", list)) cls(node, "on", node.dataset.at === at);
}

document.body.addEventListener("click", ({ target }) => {
  const at = around(target, "#tape [data-at], #entries [data-at]")?.getAttribute("data-at");
  if (at) open(at);
});
picker?.addEventListener("change", () => {
  queue = picker.value;
  $("#entries-of").textContent = queue;
  const address = new URL(location.href);
  address.searchParams.set("queue", queue);
  history.replaceState(null, "", address);
  if (store) log();
});

function step(by) {
  const all = $$("button", list), at = all.indexOf(document.activeElement);
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
}
