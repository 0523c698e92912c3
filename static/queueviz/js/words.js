/* Sentences, translated by the server and handed over as JSON with the page. */
import { json } from "./dom.js";
import { duration, number, UNKNOWN } from "./format.js";

const given = json("texts") ?? { texts: {}, facts: {}, actions: {}, values: {}, roles: {} };

const live = json("live");

/** A message that is unfinished for longer is pinned: the rule of findings. @type {number} */
export const pinnedAfterMs = given.pinned_after_ms;

/** Below it are all pages of the sandbox. @type {string} */
export const pagesRoot = live?.root ?? "";

/** Texts of another language, or of another page. */
export const learn = (texts) => Object.assign(given, texts);

const isOne = (n) => String(Array.isArray(n) ? n.length : n) === "1";

/**
 * The text of a key; of one that has none its last part, for a code is still better than the name of a text.
 * @param {string} key
 * @param {Record<string, any>} [values]
 * @returns {string}
 */
export function t(key, values) {
  const found = given.texts[key] ?? key.slice(key.indexOf(".") + 1), text = Array.isArray(found) ? found[isOne(values?.n) ? 0 : 1] : found; // one, many
  return values ? text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? UNKNOWN) : text;
}

/** The entry for this name; `Name:field=value` and `Name:field` are more to the point, where the fields say so. */
function entry(table, name, fields) {
  for (const [field, value] of Object.entries(fields)) {
    const found = table[`${name}:${field}=${value}`] ?? (value === null ? null : table[`${name}:${field}`]);
    if (found) return found;
  }
  return table[name] ?? null;
}

export const factText = (fact) => entry(given.facts, fact.type, fact) ?? { tone: "quiet", word: fact.type, text: fact.type };
export const valueWord = (value) => given.values[value] ?? value;
export const isTold = (type) => type in given.facts;

const NUMBERS = new Set("offset start_offset asked given value allowed messages first_seq count rows skipped replayed answered entries copies lag mark".split(" "));

/** What happened, in one line; `who` turns a client id into the label people know, `queue` a row into its short name. */
export function sentence(fact, who, queue) {
  return filled(factText(fact), fact, (name, value) => {
    if (name === "queue" && fact.broker !== undefined) return queueOf(fact, queue);
    if (name === "subject" && fact.kind === "queue") return queue?.(value);
    if (name === "who") return who(fact.client_id ?? fact.who ?? UNKNOWN);
    if (name === "holder" || name === "previous") return value && who(value);
    if (name === "what") return actionText(fact.action, fact.fields ?? {});
    if (name === "by") return doer(value);
    return null;
  });
}

/** A queue of a fact. One of another topic than the board's goes by its topic too: a retry queue has the same numbers. */
export function queueOf({ topic, broker, queue_id }, queue = (key) => key) {
  const named = queue(`${broker}:${queue_id}`);
  return topic === undefined || (live?.tab === "board" && topic === live.topic) ? named : `${topic} ${named}`;
}

function filled({ text, by }, fields, made) {
  const form = Array.isArray(text) ? text[isOne(fields[by]) ? 0 : 1] : text;
  return form.replace(/\{(\w+)\}/g, (_, name) => {
    const value = fields[name];
    return made(name, value) ?? plain(name, value);
  });
}

function plain(name, value) {
  if (Array.isArray(value)) return String(value.length);
  if (name.endsWith("_ms")) return value < 0 ? `−${duration(-value)}` : duration(value);
  if (NUMBERS.has(name)) return number(value);
  if (given.valued?.includes(name) && value) return given.values[value] ?? String(value).replaceAll("_", " ");
  return value ?? UNKNOWN;
}

function actionText(action, fields) {
  const known = entry(given.actions, action, fields);
  return known ? filled(known, fields, () => null) : action;
}

/** The name of a finding; one of a queue or member says which. */
export function findingWord({ kind, subject, code }, queue = (key) => key) {
  const title = valueWord(code);
  return kind === "group" ? title : t("chart.finding", { subject: kind === "queue" ? queue(subject) : subject, code: title });
}

/** Role and name, said once where they are one word. */
function doer(by) {
  const [role, name] = String(by ?? UNKNOWN).split(/ (.*)/);
  return name && name !== role ? (given.roles[name] ?? name) : (given.roles[role] ?? role);
}
