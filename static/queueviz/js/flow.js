/* A group's lag and flow: the part in the retry topic, and delivered beside consumed messages.
   Twin of queueviz/boards/lag_texts.py. */
import { number, rate } from "./format.js";
import { t } from "./words.js";

/** Empty where nothing waits for a retry. */
export function retryText({ lag, retrying }) {
  if (retrying === null || retrying === undefined) return lag === null || lag === undefined ? "" : t("flow.retrying_unknown");
  return retrying === "0" ? "" : t("flow.retrying", { n: number(retrying) });
}

export const deliveredText = ({ delivered_per_s, differs }) =>
  delivered_per_s === null || delivered_per_s === undefined ? "" : t(differs ? "flow.delivered_more" : "flow.delivered", { rate: rate(delivered_per_s) });
