/* Consumer cards: state in a word and a dot, buffers against their limits, and the available actions. */
import { $, $$, attr, cls, el, hide, oneOf, rich, text } from "./dom.js";
import { bytes, duration, number, remaining, UNKNOWN } from "./format.js";
import { glide } from "./motion.js";
import { colour, shortId } from "./names.js";
import { runs } from "./offsets.js";
import { pagesRoot, t } from "./words.js";

const TONES = { running: "k-ok", starting: "k-move", stopping: "k-move", hung: "k-bad", crashed: "k-bad", refused: "k-bad", stopped: "k-quiet" };
const BUTTONS = {
  running: ["slow", "change", "HangActor", "StopActor", "CrashActor"],
  starting: ["CrashActor"],
  stopping: ["CrashActor"],
  hung: ["ResumeActor", "CrashActor"],
  crashed: ["RestartActor", "RemoveActor"],
  stopped: ["RestartActor", "RemoveActor"],
  refused: ["RestartActor", "RemoveActor"],
};

/** Messages that are done after an unfinished one. */
const doneBehind = (cells) => runs(cells).reduce((sum, [state, count]) => (state === "d" ? sum + count : sum), 0);

export class Cards {
  cards = new Map();
  /** @type {string | null} */
  selected = null;
  /** @type {HTMLElement | null} */
  shelf = null;
  many = 4; // cards that have no room unless they are compact
  #room = { height: 0, fitted: "" };

  constructor(box, template, add) {
    this.box = box;
    this.template = template;
    this.add = add;
    for (const node of $$(".cons[data-client]", box)) this.#adopt(node);
    new ResizeObserver(([{ contentRect }]) => (this.#room.height = Math.round(contentRect.height))).observe(box);
    box.addEventListener("click", ({ target }) => {
      const card = target.closest(".cons[data-client]");
      if (card) this.select(card.dataset.client);
    });
  }

  #adopt(node) {
    const meters = Object.fromEntries($$(".meter", node).map((m) => [m.dataset.meter, { node: m, bar: $("i", m), value: $("b", m), name: $(".name", m) }]));
    const card = { node, badge: $(".badge", node), who: $(".who", node), dot: $(".state", node), word: $(".state .word", node), ms: $(".ms", node), say: $(".say", node), buttons: $$("[data-act]", node), meters };
    this.cards.set(node.dataset.client, card);
    return card;
  }

  sync(members) {
    const ids = Object.keys(members);
    const same = ids.length === this.cards.size && ids.every((id) => this.cards.has(id));
    if (same) return false;
    for (const [id, card] of this.cards)
      if (!(id in members)) {
        card.node.remove();
        this.cards.delete(id);
      }
    ids.sort((a, b) => ((members[a].letter ?? a) < (members[b].letter ?? b) ? -1 : 1));
    for (const id of ids) {
      if (this.cards.has(id)) continue;
      const node = this.template.content.firstElementChild.cloneNode(true);
      node.dataset.client = id;
      this.#adopt(node);
      const next = ids.slice(ids.indexOf(id) + 1).find((other) => this.cards.has(other) && this.cards.get(other).node.isConnected);
      this.box.insertBefore(node, next ? this.cards.get(next).node : this.add);
      if (typeof htmx !== "undefined") htmx.process(node);
    }
    $("#no-members")?.remove();
    return true;
  }

  paint(data, now, shorts) {
    const idle = [];
    for (const [id, card] of this.cards) {
      const member = data.members[id];
      if (!member) continue;
      const free = this.add && member.queues === 0 && Object.values(data.queues).every((row) => row.assigned !== id) && member.state === "running" && now - (member.since_ms ?? now) > 3000;
      if (free) idle.push(member.letter ?? shortId(id));
      cls(card.node, "shelf", Boolean(free));
      this.#card(card, id, member, data, now, shorts);
    }
    if (this.add) this.#idle(idle, data);
    const sentences = [...this.cards.values()].filter((card) => !card.say.hidden).length; // two are as high as a card
    this.#fit(this.cards.size + sentences / 2 >= this.many, `${this.cards.size} ${sentences} ${idle.length}`);
  }

  /** Where compact cards are still too high for the column, they have no meters; then the chosen one alone has its
      sentence; where that is not enough, it scrolls. */
  #fit(many, what) {
    const room = this.#room, fitted = `${many} ${what} ${room.height} ${this.selected}`;
    if (fitted === room.fitted) return;
    room.fitted = fitted;
    const isCut = () => this.box.scrollHeight > this.box.clientHeight + 1;
    attr(this.box, "data-many", many);
    attr(this.box, "data-tight", null);
    attr(this.box, "data-terse", null);
    attr(this.box, "data-tight", many && isCut());
    attr(this.box, "data-terse", many && isCut());
    attr(this.box, "data-cut", isCut());
  }

  /** Place members without a queue below the sentence with the reason. */
  #idle(idle, data) {
    if (!idle.length) return this.shelf?.remove();
    this.shelf ??= el("p", { class: "shelfhead" });
    if (!this.shelf.isConnected) this.box.insertBefore(this.shelf, this.add);
    text(this.shelf, t("card.idle", { queues: t("count.queues", { n: Object.keys(data.queues).length }), members: t("count.members", { n: this.cards.size }), who: idle.join(", "), n: idle.length }));
  }

  #card(card, id, member, data, now, shorts) {
    const state = member.state ?? "unknown", out = !["running", "starting", "stopping"].includes(state);
    oneOf(card.node, "me-", colour(member));
    cls(card.node, "out", out);
    attr(card.node, "aria-current", this.selected === id ? "true" : null);
    attr(card.node, "aria-label", `${member.letter ?? ""} ${shortId(id)}`);
    attr(card.node, "data-actor", member.actor ?? "");
    text(card.badge, member.letter ?? "?");
    text(card.who, member.actor?.match(/^[^.]{2,}$/)?.[0] ?? shortId(id));
    if (card.who.localName === "a") attr(card.who, "href", `${pagesRoot}clients/${encodeURIComponent(member.actor || id)}/`);
    attr(card.who, "title", `${id} · ${member.language ?? ""} ${member.version ?? ""}`);
    oneOf(card.dot, "k-", TONES[state] ?? "k-quiet");
    text(card.word, t(`state.${state}`));
    if (card.state !== undefined && card.state !== state) $(".answer", card.node)?.replaceChildren(); // it was about the state before
    card.state = state;
    if (card.ms) this.#meters(card, member); // a compact card has none
    const line = this.line(id, member, data, now, shorts);
    if (card.ms) hide(card.ms, out);
    hide(card.say, !line);
    if (line) rich(card.say, line);
    const wanted = BUTTONS[state] ?? [];
    /* Its style leaves one button: to cut the connection. */
    cls(card.node, "wire", member.transport === "tcp");
    for (const button of card.buttons) hide(button, !wanted.includes(button.dataset.act) && button.dataset.act !== "CutConnection");
  }

  #meters(card, member) {
    const limits = member.limits ?? {};
    const bySize = limits.bytes && limits.count && (member.fullest_bytes ?? 0) / limits.bytes > Math.max(0.05, (member.fullest ?? 0) / limits.count);
    const first = bySize ? [member.fullest_bytes, limits.bytes, bytes] : [member.fullest, limits.count, number];
    text(card.meters.count.name, t(bySize ? "meter.bytes" : "meter.count"));
    attr(card.meters.count.node, "title", t("meter.in_all", { n: bySize ? bytes(member.buffered_bytes) : number(member.buffered) })); // a limit holds for one queue
    this.#meter(card.meters.count, ...first, true);
    this.#meter(card.meters.span, member.span, limits.span, number, true);
    this.#meter(card.meters.threads, member.busy, member.threads, number, false);
  }

  #meter(meter, now, most, format, warns) {
    const { node, bar, value, at } = meter;
    const share = now === null || now === undefined || !most ? 0 : Math.min(1, now / most);
    if (meter.share !== share) glide(meter, 240, (left) => attr(bar, "style", `transform:scaleX(${(meter.at = share + ((at ?? share) - share) * left).toFixed(3)})`));
    meter.share = share;
    cls(node, "warn", warns && share > 0.6);
    text(value, `${format(now)} / ${format(most)}`);
  }

  /** The sentence of a member in a special state. */
  line(id, member, data, now, shorts) {
    const since = Math.max(0, now - member.state_since_ms), age = member.state_since_ms ? duration(since < 1000 ? since : Math.floor(since / 1000) * 1000) : UNKNOWN;
    const mine = Object.entries(data.queues).filter(([, row]) => [id, id.split(" ")[0]].includes(row.owner ?? row.assigned)).map(([key]) => shorts.get(key));
    const list = mine.length > 4 ? `${mine.slice(0, 3).join(", ")} …` : mine.join(", ");
    if (member.state === "hung") {
      if (!member.expires_at_ms) return t("card.hung_unlisted", { age });
      const left = remaining(member.expires_at_ms - now);
      return t(list ? "card.hung" : "card.hung_free", { age, left, queues: list });
    }
    if (member.state === "crashed") {
      const locks = Object.entries(data.queues).filter(([, row]) => row.lock?.holder === id && row.lock.expires_at_ms > now);
      if (!locks.length || member.same_id) return t("card.crashed", { age });
      const left = Math.max(...locks.map(([, row]) => row.lock.expires_at_ms - now));
      return t("card.crashed_locks", { age, left: remaining(left), queues: locks.map(([key]) => shorts.get(key)).join(", ") });
    }
    if (member.state === "stopped") return t("card.stopped", { age });
    if (member.state === "starting") return t("card.starting");
    if (member.state === "refused") return t("card.refused", { reason: member.reason ?? "–" });
    const pinned = Object.entries(data.queues).find(([, row]) => row.owner === id && member.slow && row.oldest?.key === member.slow.key && row.oldest.offset === row.committed);
    if (pinned) return t("card.pinned", { queue: shorts.get(pinned[0]), committed: number(pinned[1].committed), key: member.slow.key, done: number(doneBehind(pinned[1].cells)) });
    const flow = Object.values(data.queues).find((row) => row.owner === id && row.flow_control);
    if (flow) return t("card.flow", { limit: t(`limit.${flow.flow_control}`) });
    if (member.slow?.queue && !member.slow.met) return t("card.slow_next", { queue: shorts.get(member.slow.queue) ?? member.slow.queue, age: duration(member.slow.ms) });
    if (member.slow?.key) return t(member.slow.met ? "card.slow_key" : "card.slow_waits", { key: member.slow.key, age: duration(member.slow.ms) });
    if (member.transport === "tcp") return t(member.buffered === null ? "card.wire" : "card.wire_told", { language: member.language ?? "–", version: member.release ?? "–" });
    return null;
  }

  select(id) {
    this.selected = id;
    for (const [other, card] of this.cards) attr(card.node, "aria-current", other === id ? "true" : null);
  }

  step(by) {
    const ids = [...this.cards.keys()];
    if (!ids.length) return;
    const at = ids.indexOf(this.selected), id = ids[(at + by + ids.length) % ids.length];
    this.select(id);
    const button = this.cards.get(id).buttons.find((b) => !b.hidden && !b.disabled);
    button?.focus();
    this.cards.get(id).node.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
