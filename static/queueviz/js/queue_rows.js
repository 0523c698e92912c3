/* The rows of the Board: owner chip, name, strip, lag over age, sparkline, lock. Nodes are kept, and so is the order. */
import { $, attr, cls, hide, oneOf, text } from "./dom.js";
import { asOf, downSaid, downText } from "./down.js";
import { deletedSaid } from "./flow.js";
import { duration, number, remaining } from "./format.js";
import { colour, inOrder, parts, shortNames } from "./names.js";
import { deletedLag, deletedUnread, lagOf } from "./offsets.js";
import { drawLock } from "./ring.js";
import { drawSpark } from "./spark.js";
import "./strip.js";
import { t } from "./words.js";

const AGE_LIMIT_MS = 15000, PATIENCE_MS = 15000;
const LIVES = { broker_ms: 60000, client_ms: 30000, renew_ms: 20000 };
const alive = (member) => !member || member.state === "running" || member.state === "starting";

export class QueueRows {
  rows = new Map();
  shorts = new Map();
  /** @type {string | null} */
  selected = null;

  constructor(box, template, { onSelect }) {
    this.box = box;
    this.template = template;
    this.onSelect = onSelect;
    for (const node of box.querySelectorAll(".q")) this.#adopt(node);
    box.addEventListener("click", ({ target }) => target.closest(".q") && this.select(target.closest(".q").dataset.queue));
    box.addEventListener("focusin", ({ target }) => target.classList.contains("q") && this.select(target.dataset.queue));
  }

  #adopt(node) {
    const row = {
      node,
      own: $(".own", node),
      badge: $(".own .badge", node),
      name: $(".qname", node),
      broker: $(".qbroker", node),
      strip: $("qv-strip", node),
      lag: $(".lagn .lag", node),
      age: $(".age", node),
      gone: $(".gone", node),
      mark: $(".downmark", node),
      spark: $(".spark", node),
      ring: $(".ring", node),
    };
    this.rows.set(node.dataset.queue, row);
    return row;
  }

  /** True when rows came or went: lanes must be laid out anew. */
  sync(queues) {
    const keys = Object.keys(queues), marked = this.#markDown(queues);
    if (keys.length === this.rows.size && keys.every((key) => this.rows.has(key))) {
      if (!this.shorts.size) this.shorts = shortNames(keys);
      return marked;
    }
    for (const [key, row] of this.rows)
      if (!(key in queues)) {
        row.node.remove();
        this.rows.delete(key);
      }
    this.shorts = shortNames(keys);
    for (const key of inOrder(keys)) {
      if (!this.rows.has(key)) {
        const node = this.template.content.firstElementChild.cloneNode(true), { broker, id, member } = parts(key);
        node.dataset.queue = key;
        $(".qname", node).textContent = `q${id}`;
        $(".qbroker", node).textContent = member ? `${broker} · ${member.split("@")[0]}` : broker;
        this.#adopt(node);
      }
      this.box.append(this.rows.get(key).node);
    }
    this.#markDown(queues);
    return true;
  }

  /** True when a master went down or came back: a marked row is higher. */
  #markDown(queues) {
    let changed = false;
    for (const [key, { mark }] of this.rows) {
      const down = Boolean(queues[key] && downText(queues[key]));
      changed ||= mark.hidden === down;
      hide(mark, !down);
    }
    return changed;
  }

  paint(data, { now, captions, jump, history }) {
    for (const [key, view] of this.rows) {
      const row = data.queues[key];
      if (!row) continue;
      const who = row.owner ?? row.assigned, member = who ? data.members[who] : null;
      const reads = Boolean(row.owner) && alive(member);
      oneOf(view.node, "me-", colour(member));
      oneOf(view.own, "own-", null);
      cls(view.own, "reads", reads);
      cls(view.own, "waits", Boolean(who) && !reads);
      cls(view.own, "nobody", !who);
      text(view.badge, who ? (member?.letter ?? "?") : "");
      const lag = lagOf(row);
      text(view.lag, number(lag));
      const gone = deletedLag(row), unread = deletedUnread(row);
      text(view.gone, gone ? t("row.deleted", { n: number(gone) }) : "");
      text(view.mark, downText(row));
      const selected = key === this.selected;
      attr(view.node, "aria-selected", String(selected));
      const pinned = row.oldest ? t("strip.pinned", { key: row.oldest.key ?? row.oldest.offset, age: duration(now - row.oldest.since_ms) }) : "";
      const held = row.held_until_ms ? (row.held_until_ms - now) / PATIENCE_MS : null;
      const below = unread ? t("strip.unread", { n: number(unread) }) : captions.below, silent = Boolean(who) && !alive(member);
      const options = { now_ms: now, selected, silent, local: key.includes("@"), held, captions: { ...captions, pinned, below } };
      view.strip.draw(row, options, { jump, label: this.#sentence(key, row, member, reads, who, lag) });
      drawSpark(view.spark, history.of(key));
      this.#time(view, row, lag, now);
    }
  }

  /** Values that depend on time: ages, held pulls and locks. */
  tick(data, now) {
    for (const [key, view] of this.rows) {
      const row = data.queues[key];
      if (row) this.#time(view, row, lagOf(row), now);
    }
  }

  #time(view, row, lag, now) {
    const age = row.oldest_stored_ms && lag && !row.down ? now - row.oldest_stored_ms : null;
    text(view.age, row.down ? asOf(row.down) : age === null ? "" : duration(Math.max(0, age)));
    cls(view.node, "bad", age !== null && age > AGE_LIMIT_MS);
    cls(view.node, "down", Boolean(row.down));
    if (view.ring.checkVisibility && !view.ring.isConnected) return;
    const lock = row.lock ?? null, expected = row.assigned ?? row.owner;
    cls(view.ring, "stale", Boolean(lock) && lock.holder !== expected);
    const left = drawLock(view.ring, lock, { now, lives: LIVES, stale: false });
    attr(view.ring, "aria-label", lock ? t("lock.sentence", { who: lock.holder, left: remaining(left ?? 0) }) : t("lock.none"));
  }

  #sentence(key, row, member, reads, who, lag) {
    const more = [deletedSaid(row), downSaid(row)].filter(Boolean), owner = t(reads ? "owner.reads" : who ? "owner.waits" : "owner.nobody", { who: member?.letter ?? who });
    const said = t("strip.sentence", { queue: this.shorts.get(key), owner, min: number(row.min), committed: number(row.committed), memory: number(row.in_memory), next: number(row.next_pull), max: number(row.max), lag: number(lag) });
    return [said, ...more].join("; ");
  }

  select(key, focus = false) {
    if (!this.rows.has(key)) return;
    this.choose(key);
    if (focus) this.rows.get(key).node.focus();
  }

  /** Also one that has no row yet. */
  choose(key) {
    if (key === this.selected) return;
    this.selected = key;
    this.onSelect(key);
  }

  step(by) {
    const keys = [...this.rows.keys()].length ? inOrder(this.rows.keys()) : [];
    if (!keys.length) return;
    const at = keys.indexOf(this.selected);
    this.select(keys[(at + by + keys.length) % keys.length] ?? keys[0], true);
  }
}
