/* What a frame of channel `topology/…` says, in words and numbers; queueviz/boards/topology_plan.py says the same first. */
import { duration, UNKNOWN } from "./format.js";
import { ago } from "./live_fields.js";
import { t } from "./words.js";

/** Two pictures of the same shape differ in states and numbers only. */
export function shapeOf(data) {
  const names = Object.keys(data.clients).sort();
  const inside = names.map((name) => `${name}:${data.clients[name].members.map((member) => member.label)}`).join(";");
  return [Object.keys(data.name_servers), Object.keys(data.brokers), inside].join("|");
}

/** One broker as one name server sees it. */
export function ringOf(server, broker, view, lives, scan_ms, now, late_ms) {
  const last = view?.last_update_ms ?? null;
  if (last === null && view?.known_as) return { share: 0, label: UNKNOWN, says: t("view.known"), tone: "known", sentence: t("view.knows", { server, broker }) };
  if (last === null) return { share: 0, label: UNKNOWN, says: t("view.unknown"), tone: "none", sentence: t("view.nothing", { server, broker }) };
  const age = now - last, left = last + lives.expiry_ms - now, seconds = Math.max(0, Math.ceil(left / 1000));
  const tone = age > lives.register_ms + late_ms ? "late" : "ok";
  const says = left > 0 ? t(tone === "late" ? "view.silent" : "view.heard", { age: ago(age) }) : t("view.scan", { left: duration(Math.ceil(Math.max(0, (scan_ms ?? now) - now) / 1000) * 1000) });
  return { share: Math.max(0, Math.min(1, left / lives.expiry_ms)), label: String(seconds), says, tone, sentence: t("view.sentence", { server, broker, age: ago(age), left: `${seconds} s` }) };
}

const way = (cut, delay_ms) => (cut ? t("way.cut") : delay_ms ? t("way.slow", { delay: duration(delay_ms) }) : "");

/** What was done to a link, one word where both ways are alike; else whether it is open at all. */
export function linkWord(row) {
  const there = way(row.there_cut, row.there_ms), back = way(row.back_cut, row.back_ms);
  if (there === back) return there || t(row.connections ? "way.whole" : "way.none");
  return [there && `→ ${there}`, back && `← ${back}`].filter(Boolean).join(", ");
}

export const isCut = (row) => row.there_cut || row.back_cut;
export const isSlow = (row) => row.there_ms > 0 || row.back_ms > 0;

/** The other end, and the words for it. */
const linked = (row, node) => ({ ...row, peer: row.a === node ? row.b : row.a, said: linkWord(row) });

/** What the panel of a node or a link shows; null when it is gone. */
export function panelOf(data, chosen) {
  const row = data.brokers[chosen] ?? data.name_servers[chosen];
  const client = data.clients[chosen];
  if (!row && !client) return data.links[chosen] ? { row: linked(data.links[chosen]) } : null;
  const views = {}, links = {};
  for (const [key, view] of Object.entries(data.views)) {
    const [server, broker] = key.split("~");
    if (chosen !== server && chosen !== broker) continue;
    const last = view.last_update_ms;
    views[chosen === server ? broker : server] = { ...view, known: view.known_as ?? t("view.unknown"), expires_ms: last === null ? null : last + data.lives.expiry_ms };
  }
  for (const [key, link] of Object.entries(data.links)) if (chosen === link.a || chosen === link.b) links[key] = linked(link, chosen);
  return { row: row ?? client, views, links };
}

/** What can be done to it depends on this. */
export function offeredKey(data, chosen) {
  const row = data.brokers[chosen] ?? data.name_servers[chosen], link = data.links[chosen];
  if (link) return JSON.stringify([link.there_cut, link.there_ms, link.back_cut, link.back_ms, link.connections > 0]);
  return row ? JSON.stringify([row.state, row.role, data.brokers[row.broker]?.state, row.disk, row.damaged]) : "gone";
}
