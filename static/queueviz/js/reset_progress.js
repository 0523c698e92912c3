/* Progress of an online reset: each member gets the request, drops its queues, waits 10 s, pulls from the new offsets. Then plan
   and reality stand side by side until the engine has watched for a minute, and Undo leads back. Words come with the form. */
import { $, $$, attr, cls, hide, text } from "./dom.js";
import { number, remaining } from "./format.js";
import { colour, inOrder, shortNames } from "./names.js";
import { post } from "./ask.js";

const STEPS = ["told", "dropped", "waiting", "resumed"], DRAIN_MS = 10000, TICK_MS = 200;
const filled = (line, values) => line.replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** What an undo at this moment repeats and skips; null while an offset is unknown. */
function priceOfUndo(plan, board) {
  let [again, skipped] = [0n, 0n];
  for (const [key, { before }] of plan) {
    const stored = board.queues[key]?.committed ?? null;
    if (stored === null || before === "-1") return null;
    const back = BigInt(stored) - BigInt(before);
    if (back > 0n) again += back;
    else skipped -= back;
  }
  return { again: number(String(again)), skipped: number(String(skipped)) };
}

export class ResetProgress {
  #clients = new Map();
  #rows = new Map();
  #taken = new Map(); // queue → where its first holder after the reset began
  /** @type {any} */
  #reset = null;
  #next = 0; // of the facts: the first that is not read yet
  /** @type {Map<string, string>} */
  shorts = new Map();

  /** root: the reset; seq: its ActionTaken; facts: those seen since the form was opened; board: () => newest reading. */
  constructor(root, { seq, facts, live, clock, base, attached, board, topic }) {
    this.root = root;
    this.seq = seq;
    this.facts = facts;
    this.clock = clock;
    this.base = base;
    this.attached = attached;
    this.board = board;
    this.topic = topic;
    this.view = $("#t-run", root).content.firstElementChild.cloneNode(true);
    $(".rs-b", root).replaceWith(this.view);
    hide($("#rs-apply", root), true);
    this.foot = $("#rs-done", root);
    hide(this.foot, false);
    this.typed = $("#rs-undo-typed", this.foot); // a real cluster asks for the group's name
    $("#rs-undo", this.foot).onclick = ({ currentTarget }) => post(`${base}actions/`, { action: "UndoReset", reset_id: this.#reset.reset_id, confirm: this.typed?.value ?? "" }, currentTarget);
    this.foot.addEventListener("queueviz:acted", ({ detail }) => this.#begin(detail.seq));
    this.#begin(seq);
    live.addEventListener("facts", () => this.#read());
    this.timer = setInterval(() => (root.isConnected ? this.#paint() : clearInterval(this.timer)), TICK_MS);
    this.view.focus();
  }

  /** The reset that this action began; an undo is a reset too. */
  #begin(seq) {
    [this.seq, this.#reset, this.#next] = [seq, null, 0];
    for (const map of [this.#clients, this.#rows, this.#taken]) map.clear();
    this.#read();
  }

  #read() {
    for (; this.#next < this.facts.length; this.#next++) this.#note(this.facts[this.#next]);
    this.#paint();
  }

  #note(fact) {
    if (fact.type === "OffsetsReset" && fact.cause === this.seq) this.#reset = fact;
    if (!this.#reset) return;
    if (fact.type === "ResetStepDone" && fact.reset_id === this.#reset.reset_id) {
      const known = this.#clients.get(fact.client_id) ?? {};
      this.#clients.set(fact.client_id, { ...known, [fact.step]: Number(fact.at_ms) });
    }
    if (fact.type === "QueueTaken" && fact.topic === this.topic && fact.group === this.#reset.group) this.#take(`${fact.broker}:${fact.queue_id}`, fact);
  }

  /** Where it goes on after a later rebalance says nothing about the reset any more. */
  #take(key, fact) {
    if (!this.#taken.has(key)) this.#taken.set(key, fact);
  }

  #paint() {
    const board = this.board() ?? { members: {}, queues: {} }, reset = this.#reset;
    if (!reset) return;
    const plan = new Map(reset.rows.map(([key, before, after]) => [key.split("/").slice(1).join(":"), { before, after }]));
    const ids = [...new Set([...Object.keys(board.members).filter((id) => board.members[id].state === "running"), ...this.#clients.keys()])].sort();
    if (!this.shorts.size) this.shorts = shortNames([...plan.keys()]);
    this.#list(ids, board);
    const agrees = this.#compare(plan, board);
    const all = ids.map((id) => this.#clients.get(id) ?? {}), late = all.some((steps) => steps.overwritten);
    const state = late ? "overwritten" : all.length && all.every((steps) => steps.verified) ? "verified" : all.length && all.every((steps) => steps.resumed) ? "resumed" : this.attached && agrees ? (ids.length ? "resumed" : "written") : "running";
    const say = $(".rs-state", this.view);
    text(say, say.dataset[state]);
    attr(this.view, "data-state", state);
    hide($("#rs-undo", this.foot), reset.method === "undo");
    const price = $("[data-price]", this.foot), cost = reset.method === "undo" ? null : priceOfUndo(plan, board);
    text(price, cost ? filled(price.dataset.price, cost) : "");
    if (this.typed) hide(this.typed.parentElement, reset.method === "undo");
  }

  #list(ids, board) {
    const list = $(".rs-clients", this.view), now = this.clock.now();
    for (const id of ids) {
      const member = board.members[id] ?? {}, steps = this.#clients.get(id) ?? {};
      let line = list.querySelector(`[data-client="${CSS.escape(id)}"]`);
      if (!line) {
        line = $("#t-run-client", this.root).content.firstElementChild.cloneNode(true);
        line.dataset.client = id;
        $(".badge", line).classList.add(colour(member));
        text($(".badge", line), member.letter ?? "?");
        text($(".who", line), id.split("#")[0]);
        list.append(line);
      }
      const left = steps.waiting && !steps.resumed ? Math.max(0, steps.waiting + DRAIN_MS - now) : null;
      const mine = [...this.#taken].filter(([, fact]) => fact.client_id === id).map(([key, fact]) => `${this.shorts.get(key) ?? key} ${number(fact.start_offset)}`);
      const done = STEPS.filter((step) => steps[step === "waiting" ? "resumed" : step]);
      for (const step of $$("[data-step]", line)) {
        cls(step, "done", done.includes(step.dataset.step));
        attr(step, "aria-current", STEPS.indexOf(step.dataset.step) === done.length ? "step" : null);
      }
      text($("[data-step=waiting]", line), left === null ? line.dataset.wait : filled(line.dataset.waiting, { left: remaining(left) }));
      text($("[data-step=resumed]", line), steps.resumed && mine.length ? filled(line.dataset.pulling, { places: mine.join(", ") }) : line.dataset.pulls);
    }
  }

  /** A real cluster does not report first pulls: the first stored offset beyond the old one replaces them. */
  #moved(key, { before, after }, stored) {
    if (stored === null) return;
    const [from, to, now] = [before, after, stored].map(BigInt);
    if (to < from ? now < from : now >= to) this.#take(key, { start_offset: stored });
  }

  #verdict({ after }, taken, stored) {
    if (taken === null) return "pending";
    if (!this.attached) return taken !== after || (stored !== null && BigInt(stored) < BigInt(after)) ? "differs" : "same";
    return [taken, stored ?? taken].some((offset) => BigInt(offset) < BigInt(after)) ? "differs" : "same";
  }

  /** Where each queue was to go, where its holder began, what is stored by now; whether all is as planned. */
  #compare(plan, board) {
    let agrees = true;
    const body = $("tbody", this.view);
    for (const key of inOrder(plan.keys())) {
      if (!this.#rows.has(key)) {
        if (!this.#rows.size) body.replaceChildren();
        const row = body.insertRow();
        row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: this.shorts.get(key) }));
        for (let i = 0; i < 5; i++) row.insertCell().className = i < 4 ? "r" : "";
        this.#rows.set(key, row);
      }
      const cells = this.#rows.get(key).cells, { before, after } = plan.get(key), stored = board.queues[key]?.committed ?? null;
      if (this.attached) this.#moved(key, plan.get(key), stored);
      const taken = this.#taken.get(key)?.start_offset ?? null, verdict = this.#verdict(plan.get(key), taken, stored);
      agrees &&= verdict === "same";
      const line = [before === "-1" ? null : before, after, taken, stored];
      line.forEach((value, i) => text(cells[i + 1], number(value)));
      text(cells[5], body.dataset[verdict]);
      attr(cells[5], "class", `v-${verdict}`);
    }
    return agrees;
  }
}
