/* A group's lag and flow: the parts that are deleted or in the retry topic, and delivered beside consumed messages.
   Twin of queueviz/boards/lag_texts.py. */
import { number, rate } from "./format.js";
import { deletedLag, deletedUnread } from "./offsets.js";
import { t } from "./words.js";

/** Of the lag of all these queues; empty where retention deleted none of it. */
export function deletedText(queues) {
  const deleted = Object.values(queues).reduce((sum, row) => sum + deletedLag(row), 0);
  return deleted ? t("flow.deleted", { n: number(deleted) }) : "";
}

/** Of one queue, for text without a strip beside it. */
export function deletedSaid(row) {
  const deleted = deletedLag(row), unread = deletedUnread(row);
  return [deleted && t("row.deleted", { n: number(deleted) }), unread && t("row.unread", { n: number(unread) })].filter(Boolean).join(", ");
}

/** Empty where nothing waits for a retry. */
export function retryText({ lag, retrying }) {
  if (retrying === null || retrying === undefined) return lag === null || lag === undefined ? "" : t("flow.retrying_unknown");
  return retrying === "0" ? "" : t("flow.retrying", { n: number(retrying) });
}

export const deliveredText = ({ delivered_per_s, differs }) =>
  delivered_per_s === null || delivered_per_s === undefined ? "" : t(differs ? "flow.delivered_more" : "flow.delivered", { rate: rate(delivered_per_s) });
