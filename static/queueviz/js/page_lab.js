/* The Board with the panel of a lab: fetched again after facts of the lab, and while a step waits for what happens. */
import { $ } from "./dom.js";
import { page, queueName, who } from "./page_board.js";

const LAB = new Set(["LabStarted", "PredictionGiven", "HintTaken", "StepMet", "LabFinished"]);
const EVERY_MS = 2000;
const HEADER = { lag: "#k-lag", again: "#k-again", retrying: "#k-retry", dead: "#side", out: "#k-io" };
const panel = $("#lab");
const fetchAgain = () => document.body.dispatchEvent(new CustomEvent("queueviz:lab"));

/** @type {any} */ (globalThis).queueviz.live.addEventListener("facts", ({ detail }) => {
  if (detail.some((fact) => LAB.has(fact.type) || fact.action === "AnswerStep")) fetchAgain();
});
setInterval(() => {
  if ($("[data-phase=do]", panel) && !document.hidden) fetchAgain();
  watch();
}, EVERY_MS);

let begun = false; // an answer that is not sent yet: what else happens does not take it away
panel.addEventListener("input", () => (begun = true));
panel.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.verb !== "get") begun = false;
  else if (begun) detail.shouldSwap = false;
});

let within = false; // the reader was last at work in the panel, whose field with the focus may be gone
for (const kind of ["focusin", "pointerdown"]) document.addEventListener(kind, ({ target }) => (within = panel.contains(target)));
panel.addEventListener("htmx:afterSettle", () => {
  if (within && document.activeElement === document.body) $("#lab-now, #lab-done", panel)?.focus({ preventScroll: true });
  watch();
  offer();
});
watch();
offer();

/** What only some questions need is loaded with them. */
async function offer() {
  if ($("[data-events]", panel)) (await import("./lab_events.js")).offerEvents(panel, { api: page.config.api, who, queue: queueName });
}

function watch() {
  const marked = markedBy($(".steps", panel).dataset.mark);
  for (const old of document.querySelectorAll(".lab-watch")) if (old !== marked) old.classList.remove("lab-watch");
  marked?.classList.add("lab-watch");
}

function markedBy(mark) {
  const [kind, ...rest] = mark.split(":"), name = rest.join(":");
  if (kind === "queue") return $(`[data-queue="${CSS.escape(name)}"]`);
  if (kind === "member" || kind === "lock") return $(`.cons[aria-label="${CSS.escape(name)}"]`);
  if (kind === "header") return HEADER[name] ? $(HEADER[name])?.closest(".kpi, .side") : $(".ghead");
  if (kind === "lanes") return $("#consumers");
  return kind === "journal" ? $("#journal")?.closest(".panel") : null;
}
