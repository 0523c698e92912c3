/* Signs of facts on a line: circle rebalance, diamond lock, triangle warning, cross fault, flag action. */
import { svg } from "./dom.js";
import { factText } from "./words.js";

const ENDED = ["hung", "crashed", "refused"];
const SHAPES = {
  move: () => svg("circle", { r: 4.5, fill: "var(--accent)" }),
  lock: () => svg("rect", { x: -4, y: -4, width: 8, height: 8, rx: 1.5, fill: "var(--lock)", transform: "rotate(45)" }),
  warn: () => svg("path", { d: "M0 -6l5.5 10h-11z", fill: "var(--warn-fill)" }),
  bad: () => svg("path", { d: "M-4.5 -4.5l9 9m0 -9l-9 9", stroke: "var(--bad-fill)", "stroke-width": 2.6, fill: "none" }),
  act: () => svg("path", { d: "M0 7v-13h7l-2 3l2 3h-7", fill: "var(--surface)", stroke: "var(--text-2)", "stroke-width": 1.5 }),
};

/** Where several would touch, the first of these is shown. */
export const GRAVEST = ["bad", "warn", "lock", "move", "act"];

/** A fact's sign; "" for those that are no news: a member that goes on, a lock that is renewed. */
export function markOf(fact) {
  if (fact.type === "MemberStateChanged" && !ENDED.includes(fact.state)) return "";
  if (fact.type === "QueueLocked" && fact.how === "renewed") return "";
  return factText(fact).mark ?? "";
}

/** A sign around a point. */
export function sign(mark, x = 0, y = 0) {
  const node = SHAPES[mark]();
  node.setAttribute("transform", `translate(${x} ${y}) ${node.getAttribute("transform") ?? ""}`.trim());
  return node;
}
