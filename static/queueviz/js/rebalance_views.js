/* The Rebalance page's values from its channel, one topic at a time; queueviz/boards/rebalance_views.py computes the same for
   the first paint. Unknown values stay null and are shown as an en dash. */
import { duration, UNKNOWN } from "./format.js";
import { ago, left } from "./live_fields.js";
import { colour, inOrder, lettersOf, shortId, shortNames } from "./names.js";
import { t, valueWord } from "./words.js";

const WAVES_SHOWN = 20, MOVES_SHOWN = 20, TOGETHER_MS = 5000;

/** `orders/broker-a/3` → `broker-a:3`. */
export const rowOf = (key) => key.replace(/^.*\/([^/]+)\/(\d+)$/, "$1:$2");
const topicOf = (key) => key.slice(0, key.indexOf("/"));
const counted = (queues) => (queues ? Object.keys(queues).sort().map((broker) => `${broker} ${queues[broker]}`).join(", ") || "0" : null);

export class View {
  constructor(data, topic, now) {
    this.data = data;
    this.topic = topic;
    this.now = now;
    this.members = data.members ?? {};
    this.beliefs = data.beliefs ?? {};
    const keys = Object.keys(data.queues ?? {}).filter((key) => data.queues[key].topic === topic);
    const byRow = new Map(keys.map((key) => [rowOf(key), key])), shorts = shortNames([...byRow.keys()]);
    this.shorts = new Map([...shorts].map(([row, short]) => [byRow.get(row), short]));
    this.online = Object.keys(this.members).filter((id) => this.members[id].known_to?.length);
    this.known = Object.values(data.brokers ?? {}).some((broker) => broker.members !== null); // by a master that runs
    this.keys = inOrder(byRow.keys()).map((row) => byRow.get(row));
    const letter = (id) => this.members[id].letter ?? "";
    this.ids = Object.keys(this.members).sort((a, b) => (letter(a) < letter(b) ? -1 : letter(a) > letter(b) ? 1 : a < b ? -1 : 1));
  }

  who = (id) => this.members[id]?.letter ?? this.data.labels?.[id] ?? (id ? shortId(id) : UNKNOWN);
  whose = (id) => lettersOf(this.members, id) || this.who(id); // of an event, which names a client id
  me = (id) => colour(this.members[id]);
  all = (ids) => ids.map(this.who).join(" ") || t("lanes.nobody");
  queue = (key) => this.shorts.get(key) ?? rowOf(key);

  mind(id) {
    const member = this.members[id], belief = this.beliefs[`${id}|${this.topic}`] ?? {}, { members = null, mine = null } = belief;
    return {
      who: member.actor ?? shortId(id), letter: member.letter ?? "?", me: colour(member), state: member.state, due_ms: member.due_ms,
      asked_ms: belief.asked_ms, trigger: belief.trigger, told: members && this.all(members), has: counted(belief.queues), place: place(belief),
      agrees: belief.agrees ?? null, against: this.#against(belief), mine: mine && (mine.map(this.queue).join(" ") || t("mind.nothing")),
      note: this.#note(member, belief),
    };
  }

  #against(belief) {
    if (belief.agrees === null || belief.agrees === undefined) return "";
    if (belief.agrees) return t("mind.yes");
    const lists = Object.values(this.data.brokers ?? {}).map(({ members }) => members ?? []), of = (list, id) => list.filter((one) => one === id).length;
    // an id of two connections is there twice
    const known = [...new Set(lists.flat())].sort().flatMap((id) => Array(Math.max(...lists.map((list) => of(list, id)))).fill(id));
    if (String(known) !== String(belief.members)) return t("mind.no_members", { members: this.all(known) });
    return t("mind.no_queues", { queues: counted(this.data.topics?.[this.topic]?.queues) ?? UNKNOWN });
  }

  #note(member, belief) {
    if (member.transport === "tcp") return t("mind.secret");
    if (!belief.client_id) return t("mind.gone");
    if (belief.missed_ms) return t(belief.missed_why ? "mind.cannot" : "mind.missed", { age: ago(this.now - belief.missed_ms), why: belief.missed_why });
    const { route, queues } = belief;
    return route && queues && counted(route) !== counted(queues) ? t("mind.route", { queues: counted(route) }) : "";
  }

  line(key) {
    const row = this.data.queues[key], { trouble } = row;
    const wait = Object.values(this.data.waits ?? {}).find(({ queue }) => queue === key);
    let said = trouble ? t(`trouble.${trouble}`) : "", { since_ms } = row;
    if (wait && (trouble === "waits" || trouble === "lingers")) [said, since_ms] = [t(`trouble.${wait.why}`, { who: this.who(wait.holder), left: wait.until_ms ? left(wait.until_ms - this.now) : UNKNOWN }), null];
    const held = Object.keys(row.held ?? {}), claims = Object.keys(row.claims ?? {}), due = row.due ?? [];
    const sentence = t("lanes.sentence", { queue: this.queue(key), held: this.all(held), claims: this.all(claims), due: this.all(due) });
    return { short: this.queue(key), broker: row.broker, held, claims, due, trouble, since_ms, said, sentence };
  }

  /** Rounds that have one cause together, the newest first. */
  waves() {
    /** @type {{ key: string, at_ms: number, seq: string | null, said: string, rounds: any[] }[]} */
    const found = [];
    const given = this.data.rounds ?? {};
    for (const seq of Object.keys(given).sort((a, b) => Number(a) - Number(b))) {
      const row = given[seq], because = row.because ?? {}, changed = because.topic_changed_ms ?? null;
      if (row.topic !== this.topic) continue;
      const at_ms = changed ?? because.at_ms ?? row.at_ms, key = `${because.what ?? "none"}|${changed === null ? because.who : null}`;
      let wave = found.find((one) => one.key === key && Math.abs(one.at_ms - at_ms) <= TOGETHER_MS);
      if (!wave) found.push((wave = { key, at_ms, seq: because.seq ?? null, said: this.because(because), rounds: [] }));
      wave.rounds.push({ seq, who: this.whose(row.client_id), me: this.me(row.client_id), trigger: row.trigger, late_ms: Math.max(0, row.at_ms - wave.at_ms), added: row.added.length, dropped: row.dropped.length, route_ms: changed === null ? 0 : Math.max(0, because.at_ms - changed) });
    }
    for (const { rounds } of found) {
      const longest = Math.max(1000, ...rounds.map(({ late_ms }) => late_ms)), share = (ms) => ((100 * ms) / longest).toFixed(1);
      for (const one of rounds) {
        const route = Math.min(one.route_ms, one.late_ms);
        Object.assign(one, { route_share: share(route), rest_share: share(Math.max(one.late_ms - route, Math.floor(longest / 50))) });
      }
    }
    return found.reverse().slice(0, WAVES_SHOWN);
  }

  because = (because) => t(`because.${because.what ?? "none"}`, { who: this.whose(because.who), why: because.why ? valueWord(because.why) : UNKNOWN });

  moves() {
    const given = this.data.moves ?? {};
    return Object.keys(given).sort((a, b) => Number(b) - Number(a)).filter((seq) => topicOf(given[seq].queue) === this.topic).slice(0, MOVES_SHOWN).map((seq) => {
      const row = given[seq];
      return { seq, at_ms: row.taken_ms, queue: this.queue(row.queue), from_who: this.whose(row.from), from_me: this.me(row.from), to_who: this.whose(row.to), to_me: this.me(row.to), gap: gap(row), both: row.from !== null && (row.left_ms === null || row.left_ms > row.taken_ms), said: this.because(row.because ?? {}) };
    });
  }
}

function place({ members, index }) {
  if (!members) return null;
  return index === null ? t("mind.absent") : t("mind.place", { n: index + 1, of: members.length });
}

/** The time during which no member or two members read the queue. */
function gap({ from, left_ms, taken_ms }) {
  if (from === null) return t("gap.first");
  if (left_ms === null) return t("gap.still");
  const ms = taken_ms - left_ms;
  return ms === 0 ? t("gap.at_once") : t(ms > 0 ? "gap.paused" : "gap.both", { age: duration(Math.abs(ms)) });
}
