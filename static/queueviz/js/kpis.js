/* The header figures of the Board. */
import { $, attr, cls, hide, text } from "./dom.js";
import { knownText } from "./down_brokers.js";
import { deletedText, deliveredText, retryText } from "./flow.js";
import { duration, number, rate } from "./format.js";
import { t } from "./words.js";

export class Kpis {
  #nodes = {};
  constructor() {
    for (const id of ["lag", "known", "gone", "retry", "delivered", "old", "risk", "risky", "io", "e2e", "again", "oldbox", "strategy"]) this.#nodes[id] = $(`#k-${id}`);
    for (const id of ["lag", "risk", "io"]) {
      const node = this.#nodes[id];
      if (!node) continue;
      const small = node.querySelector("small");
      const value = document.createTextNode(node.firstChild?.data.trim() ?? "");
      node.replaceChildren(value, " ", small);
      this.#nodes[id] = { set: (line) => value.data !== line && (value.data = line) };
    }
  }

  paint(header, queues, now) {
    if (!header || !this.#nodes.lag) return;
    const n = this.#nodes;
    n.lag.set(number(header.lag));
    text(n.known, knownText(header));
    text(n.gone, deletedText(queues));
    text(n.retry, retryText(header));
    text(n.delivered, deliveredText(header));
    for (const note of [n.known, n.gone, n.retry, n.delivered]) attr(note, "title", note.textContent), hide(note, !note.textContent);
    cls(n.delivered, "warn", Boolean(header.differs));
    cls(n.known.parentElement, "bad", isPartly(header));
    n.risk.set(number(header.redelivered_on_crash));
    if (n.risky) text(n.risky, riskText(header)), attr(n.risky, "title", n.risky.textContent), hide(n.risky, !n.risky.textContent);
    n.io.set(`${rate(header.in_per_s)} / ${rate(header.out_per_s)}`);
    text(n.e2e, `${duration(header.e2e_p50_ms)} / ${duration(header.e2e_p99_ms)}`);
    text(n.again, number(header.delivered_again));
    if (n.strategy) text(n.strategy, STRATEGY[header.strategy] ? t(STRATEGY[header.strategy]) : (header.strategy ?? "–"));
    this.tick(header, now);
  }

  tick(header, now) {
    if (!header || !this.#nodes.old) return;
    const age = header.oldest_since_ms ? Math.max(0, now - header.oldest_since_ms) : null;
    text(this.#nodes.old, age === null && header.lag === "0" && !isPartly(header) ? t("kpi.none") : duration(age));
    cls(this.#nodes.oldbox, "bad", age !== null && age > 15000);
  }
}

/** What "redelivered on crash" rests on, while a master is down. Twin of `risk_text` in queueviz/boards/down_queue_texts.py. */
const riskText = (header) => (header.redelivered_notes ?? []).map((note) => t(`down.risk_${note}`)).join("; ");
const isPartly = (header) => header.queues_known < header.queues_all;
const STRATEGY = { AVG: "strategy.AVG", AVG_BY_CIRCLE: "strategy.AVG_BY_CIRCLE", CONSISTENT_HASH: "strategy.CONSISTENT_HASH" };
