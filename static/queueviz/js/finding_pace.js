/* Findings change with each look of the sandbox, every 2 s of its clock; a page asks for them a moment later, and never
   more often than every 4 s of its own: an answer costs the server 8 ms. A real cluster has no other pace. Between two
   answers times go on by themselves. */
import { $, $$ } from "./dom.js";
import { duration, remaining } from "./format.js";

/* Findings that move, and a header that speaks of trouble before a finding opens. */
const MAY_CHANGE = "[data-moves], .kpi.bad, .kpi .warn:not([hidden])";
const LOOK_MS = 2000, AFTER_MS = 300, LEAST_MS = 4000, TICK_MS = 250;

const lookNumber = (now_ms) => Math.floor((now_ms - AFTER_MS) / LOOK_MS);

/**
 * `least_ms`: between two questions.
 * @param {{ painter: import("./frame.js").Painter, clock: import("./clock.js").SandboxClock }} page
 */
export function keepFindingsFresh({ painter, clock }, least_ms = LEAST_MS) {
  let look = lookNumber(clock.now()), asked = performance.now(), ticked = 0;
  painter.every(() => {
    const now = clock.now(), newest = lookNumber(now);
    if (performance.now() - ticked >= TICK_MS) {
      ticked = performance.now();
      tickTimes(now);
    }
    if (newest === look || performance.now() - asked < least_ms || document.hidden || !$(MAY_CHANGE)) return;
    [look, asked] = [newest, performance.now()];
    document.body.dispatchEvent(new CustomEvent("queueviz:findings"));
  });
}

/** "unfinished for 58 s", "free in 33 s". */
function tickTimes(now_ms) {
  for (const node of $$("[data-since], [data-until]")) {
    const { since, until } = node.dataset, shown = since === undefined ? remaining(Number(until) - now_ms) : duration(Math.max(0, now_ms - Number(since)));
    if (node.textContent !== shown) node.textContent = shown; // a morph writes it, too
  }
}
