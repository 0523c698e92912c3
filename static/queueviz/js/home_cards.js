/* The members on the first page: each card has its name, its state, and its queues or since when it is gone. */
import { Cards } from "./consumer_cards.js";
import { duration } from "./format.js";
import { target } from "./lanes.js";
import { t } from "./words.js";

const NAMED = 4; // queues that one line of a card has room for
const GONE = new Set(["crashed", "hung", "stopped"]);

export class HomeCards extends Cards {
  many = Infinity;

  line(id, member, data, now, shorts) {
    if (GONE.has(member.state)) return t("home.ago", { age: duration(Math.floor(Math.max(0, now - member.state_since_ms) / 1000) * 1000) });
    const mine = [...shorts].filter(([key]) => data.queues[key] && target(data.queues[key]) === id);
    if (mine.length > NAMED) return t("count.queues", { n: mine.length });
    return mine.map(([, name]) => name).join(", ") || t("home.no_queue");
  }

  select() {} // nothing on this page is about one member
}
