/* The commit log: all topics in one band, in byte order; below it the consume queue of the chosen queue points into it. */
import { el, svg } from "./dom.js";
import { number } from "./format.js";
import { parts } from "./names.js";
import { t } from "./words.js";

const PX_PER_BYTE = 0.082, TOP = 16, HEIGHT = 30, CHIP = 58, MOST_CHIPS = 5;

export class Tape {
  constructor(root, legend) {
    this.root = root;
    this.legend = legend;
    new ResizeObserver(() => this.paint()).observe(root);
  }

  update(data, { queue, topic }) {
    this.data = data;
    this.queue = queue;
    this.topic = topic;
    this.paint();
  }

  paint() {
    const { data, root } = this, width = root.clientWidth, height = root.clientHeight;
    if (!data || !width) return;
    const records = Object.entries(data.records ?? {}).map(([at, r]) => ({ at: BigInt(at), ...r })).sort((a, b) => (a.at < b.at ? -1 : 1));
    const kept = fitting(records, width - 14);
    root.replaceChildren(...this.#band(kept, data), ...this.#entries(records, height, width));
    root.setAttribute("aria-label", t("tape.summary", { n: kept.length }));
    this.#legend(kept);
  }

  #colour(topic) {
    if (topic.startsWith("%") || topic === "SCHEDULE_TOPIC_XXXX" || topic.startsWith("RMQ_")) return 4;
    const at = (this.data.topics ?? []).filter((name) => !name.startsWith("%")).indexOf(topic);
    return at < 0 ? 4 : at % 4;
  }

  #mine(record) {
    return this.queue && record.topic === this.topic && String(record.queue_id) === parts(this.queue).id;
  }

  #band(kept, data) {
    const nodes = [], log = data.log ?? {};
    if (kept.length) nodes.push(svg("text", { x: 0, y: 10 }, `${fileOf(kept[0].at, log.file_bytes)}  ·  ${number(kept[0].at)} …`));
    let x = 0;
    for (const record of kept) {
      record.x = x;
      record.w = record.bytes * PX_PER_BYTE;
      const colour = this.#colour(record.topic), mine = this.#mine(record) ? " mine" : "";
      if (log.file_bytes && record.at % BigInt(log.file_bytes) === 0n && record.at > 0n) nodes.push(svg("path", { class: "cut", d: `M${x} ${TOP - 4}v${HEIGHT + 8}` }));
      nodes.push(svg("rect", { class: `unit topic-${colour}${mine}`, x: x + 0.75, y: TOP, width: Math.max(1, record.w - 1.5), height: HEIGHT, rx: 3, "data-at": record.at }));
      if (record.w > 17) nodes.push(svg("text", { class: `unit-name topic-${colour}${mine}`, x: x + record.w / 2, y: TOP + 19 }, unitName(record)));
      x += record.w;
    }
    nodes.push(svg("path", { class: "head", d: `M${x + 1} ${TOP - 6}v${HEIGHT + 12}` }));
    const flushed = log.flushed === null || log.flushed === undefined ? null : BigInt(log.flushed);
    if (flushed !== null && kept.length) {
      const at = place(kept, flushed, x);
      if (flushed > kept[0].at) nodes.push(svg("path", { class: "flag", d: `M${at.toFixed(1)} ${TOP + HEIGHT + 1}v7h-6` }));
      if (at < x - 2) nodes.push(svg("path", { class: "soft", d: `M${at.toFixed(1)} ${TOP - 2}H${x.toFixed(1)}` }));
    }
    return nodes;
  }

  #entries(records, height, width) {
    const mine = records.filter((record) => this.#mine(record)).slice(-Math.min(MOST_CHIPS, Math.floor((width - 140) / (CHIP + 6))));
    if (!mine.length || height < 120) return [];
    const nodes = [], y = height - 66, chosen = mine[Math.max(0, mine.length - 2)];
    mine.forEach((record, i) => {
      const x = 4 + i * (CHIP + 6), on = record === chosen ? " on" : "", from = x + CHIP / 2;
      const to = record.x === undefined ? -8 : record.x + record.w / 2; // older than the band shows: off to the left
      nodes.push(svg("path", { class: `link${on}`, d: `M${from} ${y}C${from} ${y - 30} ${to.toFixed(1)} ${TOP + HEIGHT + 30} ${to.toFixed(1)} ${TOP + HEIGHT + 2}` }));
      nodes.push(svg("rect", { class: `chip${on}`, x, y, width: CHIP, height: 20, rx: 4 }), svg("text", { class: `chip-name${on}`, x: from, y: y + 14 }, number(record.queue_offset)));
    });
    nodes.push(svg("text", { x: 4 + mine.length * (CHIP + 6) + 4, y: y + 14 }, `consumequeue/${this.topic}/${parts(this.queue).id}`));
    return [...nodes, ...bytesOf(chosen, y + 38)];
  }

  #legend(kept) {
    const topics = [...new Set(kept.map((record) => record.topic))].slice(0, 4), key = topics.join();
    if (this.legend._key === key) return;
    this.legend._key = key;
    this.legend.replaceChildren(...topics.map((topic) => el("span", {}, el("i", { class: `swatch topic-${this.#colour(topic)}` }), topic.startsWith("%RETRY%") ? "retry" : topic)));
  }
}

/** The newest records that fit, whole ones only. */
function fitting(records, width) {
  let used = 0, first = records.length;
  while (first > 0 && used + records[first - 1].bytes * PX_PER_BYTE <= width) used += records[--first].bytes * PX_PER_BYTE;
  return records.slice(first);
}

const place = (kept, offset, end) => {
  const found = kept.find((record) => record.at >= offset);
  return found ? found.x : end;
};
const unitName = (record) => `${record.topic.startsWith("%RETRY%") ? "⟳" : record.topic.startsWith("%DLQ%") ? "†" : record.topic[0]}${record.queue_id}`;
const fileOf = (at, size) => String(size ? at - (at % BigInt(size)) : 0n).padStart(20, "0");

/** The twenty bytes of the chosen entry: 8 commit log offset, 4 size, 8 tag hash. */
function bytesOf(record, y) {
  const groups = [
    [t("tape.offset"), hex(record.at, 8), "topic-0"],
    [t("tape.size"), hex(BigInt(record.bytes), 4), "topic-2"],
    [t("tape.tag"), hex(BigInt.asUintN(64, BigInt(javaHash(record.tags ?? ""))), 8), "topic-1"],
  ];
  const nodes = [];
  let x = 4;
  for (const [name, line, colour] of groups) {
    const w = line.length * 6.05;
    nodes.push(svg("text", { class: `byte ${colour}`, x, y }, line), svg("path", { class: `under ${colour}`, d: `M${x} ${y + 5}h${w - 2}` }), svg("text", { x, y: y + 17 }, name));
    x += w + 12;
  }
  return nodes;
}

const hex = (value, count) => value.toString(16).toUpperCase().padStart(count * 2, "0").match(/../g).join(" ");

/** String.hashCode of Java: what a consume queue keeps of a tag. */
export function javaHash(line) {
  let hash = 0;
  for (let i = 0; i < line.length; i++) hash = (Math.imul(31, hash) + line.charCodeAt(i)) | 0;
  return hash;
}
