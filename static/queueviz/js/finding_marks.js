/* The parts of the Board that a finding is about are lit while the pointer or the focus is on its line, or on a
   row of its figures. A tap on one, or the button of the line, also brings the first of them into view; they stay lit until the next tap elsewhere. */
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

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function setUpFindingMarks() {
  let lit = [], stays = false;
  const light = (line) => {
    for (const part of lit) cls(part, "lit", false);
    lit = line ? JSON.parse(line.dataset.marks ?? "[]").flatMap(partsOf) : [];
    for (const part of lit) cls(part, "lit", true);
  };
  const show = (line) => {
    light(line);
    const [first] = lit.filter((part) => part.getClientRects().length);
    first?.scrollIntoView({ block: "center", inline: "center", behavior: still() ? "auto" : "smooth" });
    stays = Boolean(first);
  };
  const main = $("#main") ?? document.body;
  for (const kind of ["pointerover", "focusin"])
    main.addEventListener(kind, (event) => {
      const line = event.target.closest?.("[data-marks]");
      if (line || (!stays && event.pointerType !== "touch")) light(line);
    });
  main.addEventListener("click", ({ target, pointerType }) => {
    const line = target.closest("[data-marks]");
    if (line && (target.closest("[data-show]") || (pointerType === "touch" && !target.closest("a, button")))) return show(line);
    stays = false;
    light(line);
  });
}
