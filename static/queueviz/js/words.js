/* Sentences, translated by the server and handed over as JSON with the page. */
import { json } from "./dom.js";
import { duration, number, UNKNOWN } from "./format.js";

const given = json("texts") ?? { texts: {}, facts: {} };

export function t(key, values) {
  const text = given.texts[key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? UNKNOWN) : text;
}

export const factText = (type) => given.facts[type] ?? { tone: "quiet", word: type, text: type, mark: "", quiet: false };

const NUMBERS = new Set("offset start_offset asked given value allowed messages truncated_bytes first_seq count skipped replayed answered entries".split(" "));

/** What happened, in one line; `who` turns a client id into the label people know, `queue` a row into its short name. */
export function sentence(fact, who, queue) {
  return factText(fact.type).text.replace(/\{(\w+)\}/g, (_, name) => {
    if (name === "queue" && fact.broker !== undefined) return queue(`${fact.broker}:${fact.queue_id}`);
    if (name === "who") return who(fact.client_id ?? fact.who ?? UNKNOWN);
    const value = fact[name];
    if (["holder", "previous", "by"].includes(name) && value) return who(value);
    if (Array.isArray(value)) return String(value.length);
    if (name.endsWith("_ms")) return duration(value);
    if (NUMBERS.has(name)) return number(value);
    if (name === "action" && value && fact.fields) return actionName(value, fact.fields);
    return value ?? UNKNOWN;
  });
}

const actionName = (action, fields) => (fields.actor ? `${action} ${fields.actor}` : action);
