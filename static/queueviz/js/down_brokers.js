/* Brokers without a master, in the words of their queues. Twin of queueviz/boards/down_queue_texts.py. */
import { downSaid } from "./down.js";
import { number } from "./format.js";
import { parts } from "./names.js";
import { t } from "./words.js";

/** A short state of an orderly group's queue. */
export const downWait = ({ down }) => (down?.reads ? t("down.wait", { lag: number(down.lag) }) : "");

/** The sentences of each broker, without duplicates. */
export const downLines = (queues) => [...new Set(marked(queues).map(([key, row]) => `${parts(key).broker}: ${downSaid(row)}`))].sort();

export const knownText = (known) =>
  known?.lag_last_known === undefined || known.queues_known === known.queues_all ? "" : t("down.known", { n: number(known.queues_known), all: number(known.queues_all)});

/** For each master that is down, the stopped queues and lost locks of an orderly group. */
export function downBrokers(queues) {
  const lags = new Map();
  for (const [key, row] of marked(queues)) {
    const said = `${parts(key).broker}: ${downSaid(row)}`;
    lags.set(said, (lags.get(said) ?? 0) + Number(row.down.lag ?? 0));
  }
  return [...lags].map(([said, lag]) => t("down.locks", { said, lag: number(lag) }));
}

const marked = (queues) => Object.entries(queues).filter(([, { down }]) => down?.reads).sort(([a], [b]) => (a < b ? -1 : 1));
