/* A queue whose master is down: its readers and the time of its lag. Twin of queueviz/boards/down_queue_texts.py.
   Who reads those of a silent broker of a real cluster is unknown: no words. */
import { clock } from "./format.js";
import { t } from "./words.js";

export const asOf = (down) => t("row.as_of", { at: clock(down.known_at_ms, 0, { millis: false }) });
export const downText = ({ down }) => (down?.reads ? t(`down.${down.reads}`) : "");

/** The lag with its time, for text without a strip beside it. */
export const downSaid = (row) => (downText(row) ? `${downText(row)}, ${asOf(row.down)}` : "");
