/* The rows of the table with the values of a board's strips (partials/queue_heads.html). */
import { el } from "./dom.js";
import { deletedSaid } from "./flow.js";
import { number, UNKNOWN } from "./format.js";
import { inOrder, shortNames } from "./names.js";
import { lagOf } from "./offsets.js";

export function queueRows({ queues, members }) {
  const keys = inOrder(Object.keys(queues)), shorts = shortNames(keys);
  return keys.map((key) => {
    const row = queues[key], owner = row.owner ? (members[row.owner]?.letter ?? row.owner) : UNKNOWN;
    const numbers = [row.min, row.committed, row.in_memory, row.next_pull, row.max, lagOf(row)];
    const cells = numbers.map((value) => el("td", { class: "r" }, number(value))), gone = deletedSaid(row);
    if (gone) cells.at(-1)?.append(" ", el("small", { class: "bad" }, gone));
    return el("tr", {}, el("th", { scope: "row" }, shorts.get(key)), el("td", {}, owner), ...cells);
  });
}
