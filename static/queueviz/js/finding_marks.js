/* The parts of the Board that a finding is about are lit while the pointer or the focus is on its line. */
import { $, $$, cls } from "./dom.js";

const quoted = (text) => CSS.escape(text);

/** The elements of an address (`sandbox/findings/marks.py`). */
function partsOf(address) {
  const [kind, ...rest] = address.split("/"), name = rest.at(-1);
  if (kind === "queue") return $$(`[data-queue="${quoted(name)}"]`);
  if (kind === "member") return $$(`[data-client="${quoted(rest.join("/"))}"]`);
  if (kind === "threads") return $$(`[data-client="${quoted(rest.join("/"))}"] [data-meter="threads"]`);
  if (kind === "in_out") return $$(".kpi:has(#k-io)");
  if (kind === "lag") return $$(".kpi:has(#k-lag)");
  return [];
}

export function setUpFindingMarks() {
  let lit = [];
  const light = (line) => {
    for (const part of lit) cls(part, "lit", false);
    lit = line ? JSON.parse(line.dataset.marks ?? "[]").flatMap(partsOf) : [];
    for (const part of lit) cls(part, "lit", true);
  };
  const main = $("#main") ?? document.body;
  for (const kind of ["pointerover", "focusin"]) main.addEventListener(kind, ({ target }) => light(target.closest?.("#finding")));
}
