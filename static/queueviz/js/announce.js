/* Announcements for screen readers: only events with a judgement, at most one every 5 s, at most three pending. */
import { $ } from "./dom.js";

const GAP_MS = 5000, WAITING = 3;
const waiting = [];
let last = -GAP_MS;
let timer = null;

export function say(line) {
  if (waiting.at(-1) === line) return;
  if (waiting.length >= WAITING) waiting.shift();
  waiting.push(line);
  if (timer === null) timer = setTimeout(next, Math.max(0, last + GAP_MS - performance.now()));
}

function next() {
  timer = null;
  const line = waiting.shift();
  if (line === undefined) return;
  last = performance.now();
  const region = $("#say");
  if (region) region.textContent = line;
  if (waiting.length) timer = setTimeout(next, GAP_MS);
}
