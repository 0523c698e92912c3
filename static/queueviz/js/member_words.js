/* Members of one group that do not subscribe alike: the differing topics, and each member's subscription.
   Twin of queueviz/boards/member_words.py. */
import { number } from "./format.js";
import { t } from "./words.js";

/** Of a header of a board, or a row of the Groups page. @param {{ members_differ?: string[], shared_ids?: string[] }} row */
export const differText = ({ members_differ: differ = [], shared_ids = [] }) => [
  shared_ids.length ? t("differ.shared", { ids: shared_ids.join(", ") }) : "",
  differ.length ? t("differ.head", { what: differ.map((what) => t(`differ.${what}`)).join(", ") }) : "",
].filter(Boolean).join("; ");

/** Of a member whose client id another connection has, too. */
export const sameIdText = ({ same_id = 0 }) => (same_id > 1 ? t("differ.same_id", { n: number(same_id) }) : "");

/** `orders TagA, 20 dropped by its client`. @param {any} words @param {string[]} differ */
export function wordsText(words, differ) {
  const said = words.subscriptions?.map((sub) => `${sub.topic} ${sub.expression ?? "*"}`) ?? [t("differ.unknown")];
  for (const what of ["model", "listener"]) if (differ.includes(what) && words[what]) said.push(t(`differ.${words[what]}`));
  if (differ.includes("topics") || differ.includes("expressions")) said.push(...counts(words));
  return said.join(", ");
}

/** Each member of a group in a line of its own. */
export const groupWords = (members, differ) => members.map((one) => `${one.actor ?? one.client_id}: ${wordsText(one, differ)}`).join("\n");

function counts({ dropped, passed_over }) {
  const said = typeof dropped === "number" ? [] : [t("differ.dropped_unknown")];
  if (dropped) said.push(t("differ.dropped", { n: number(dropped) }));
  if (passed_over) said.push(t("differ.passed_over", { n: number(passed_over) }));
  return said;
}
