/* The Board with the panel of a lab: channel `lab/…` says when the panel is to be fetched again. */
import { unanswered } from "./ask.js";
import { $, $$, around } from "./dom.js";
import { KeptAnswer } from "./kept_answer.js";
import { needed } from "./later.js";
import { page, queueName, who } from "./page_board.js";

const EVERY_MS = 2000;
const LOOKS = 2; // so often a new mark is brought into view: the first view of a board grows under it
let looks = 0;
const HEADER = { lag: "#k-lag", again: "#k-again", retrying: "#k-retry", dead: "#side", out: "#k-io", subscription: "#k-subscription" };
const panel = $("#lab");
const kept = new KeptAnswer(panel);
const fetchAgain = () => document.body.dispatchEvent(new CustomEvent("queueviz:lab"));

/* Figures of a verdict may change with each message: they alone are not fetched more often than they are read. */
let shown = "", later = 0, fetched = performance.now();
page.live.follow(`lab/${encodeURIComponent(page.config.slug)}`, {
  changed(channel) {
    page.live.painted(channel);
    hold(channel.data.hold);
    const { lab } = channel.data, now = [lab?.attempt, lab?.open?.step, lab?.open?.phase, lab?.open?.hints.length, lab?.receipts.length, lab?.open?.lines.map(({ state }) => state)].join();
    clearTimeout(later);
    later = setTimeout(fetchAgain, now === shown ? Math.max(0, fetched + EVERY_MS - performance.now()) : 0);
    shown = now;
  },
});

document.body.addEventListener("queueviz:lab", () => (fetched = performance.now()));
setInterval(() => {
  if (!document.hidden) fetchKept();
  watch();
}, EVERY_MS);

panel.addEventListener("click", ({ target }) => {
  const button = around(target, "[data-pace]:not([aria-disabled=true])");
  if (button) page.actions.act({ action: "SetRate", rate: button.dataset.pace }, button);
  if (around(target, "[data-show]")) bring(markedNow());
});

/* A line's button sends what its form has, as the Board's own control does; then what it changes comes into view. */
panel.addEventListener("submit", (event) => {
  const form = around(event.target, "form[data-line]");
  if (!form) return;
  event.preventDefault();
  page.actions.act(Object.fromEntries([...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken")), $("button", form));
  bring(markedNow());
});

/* Time runs while a step waits for what happens, and before the first answer. In between it stands: what is to be read
   stays on the Board, and what is to be predicted does not happen before. */
let before = phase(), stands = false;
page.painter.every(() => {
  const said = $("[data-paused]", panel);
  if (said) said.hidden = page.clock.rate !== 0; // each fetched panel hides it
});

const received = () => $(".steps", panel).dataset.received;

function phase() {
  return $(".steps", panel).dataset.phase;
}

/** While the teacher of a course holds the sandbox, the panel leaves its clock alone. */
let held = null;
function hold(row) {
  held = row.frozen || row.acts;
  Object.assign(page, { hold: row });
  document.body.dispatchEvent(new CustomEvent("queueviz:hold", { detail: row }));
}

function pace() {
  const last = before, now = (before = phase()), runs = now === "do" || now === "done" || received().endsWith("/0");
  if (now === last) return;
  const result = now === "predict" ? $$(".was", panel).at(-1) : null; // of the step before, above the new question
  (result ?? $("#lab-now", panel))?.scrollIntoView({ block: now === "do" ? "nearest" : "start" });
  if (held || !page.actions.can("time")) return;
  if (runs && (stands || page.clock.rate === 0)) setRate(1);
  else if (!runs && last === "do") setRate(0);
}

function setRate(rate) {
  stands = rate === 0;
  page.actions.act({ action: "SetRate", rate }, $(".dots", panel)); // no button was pressed
}

const fetches = (requestConfig) => requestConfig.path.endsWith("/progress/"); // the panel itself, not an answer
let whole = false; // the task is unfolded, and stays so in a fetched panel
let refusal = null; // said to the reader's own answer: it stays until the next one
let begun = false; // an answer that is not sent yet: what else happens does not take it away
panel.addEventListener("input", () => (begun = true));
panel.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
  if (around(target, ".answer")) return; // a refusal of an action
  refusal = fetches(detail.requestConfig) ? $(".refusal", panel) : null;
  whole = Boolean($(".whole", panel)?.open);
  if (!isPanel(detail.serverResponse)) { // the sandbox is asleep, or about to wake
    detail.shouldSwap = false;
    if (detail.xhr.status === 204) begun = false; // a hand went up or down
  } else if (!fetches(detail.requestConfig)) begun = false;
  else if (begun) detail.shouldSwap = false;
});

/* An answer that found no server stays in this browser, and goes out with the connection. */
const isPanel = (html) => html.includes("data-received");
panel.addEventListener("htmx:configRequest", ({ detail }) => kept.keep(detail.parameters));
panel.addEventListener("htmx:afterRequest", ({ detail }) => {
  kept.settle(detail, isPanel(detail.xhr.responseText ?? ""));
  if (kept.troubled) begun = false;
});
panel.addEventListener("htmx:sendError", (event) => {
  const { requestConfig } = event.detail; // a hint and a new attempt are asked for again, or not
  if (fetches(requestConfig) || requestConfig.parameters.action === "AnswerStep") event.stopPropagation(); // the head says that the connection is lost
});
page.live.addEventListener("reopened", () => (kept.hurry(), fetchAgain()));
addEventListener("load", fetchKept);

/** The panel wakes a sandbox, and the answer follows it. */
function fetchKept() {
  if (kept.isDue && page.live.status !== "offline") fetchAgain();
}

let within = false; // the reader was last at work in the panel, whose field with the focus may be gone
for (const kind of ["focusin", "pointerdown"]) document.addEventListener(kind, ({ target }) => (within = panel.contains(target)));
panel.addEventListener("htmx:afterSettle", () => {
  if (refusal && !$(".refusal", panel)) $(".steps", panel).after(refusal);
  if (whole && $(".whole", panel)) $(".whole", panel).open = true;
  if (within) bring($(".said.wrong", panel));
  if (within && document.activeElement === document.body) $("#lab-now, #lab-done", panel)?.focus({ preventScroll: true });
  pace();
  kept.show();
  kept.send();
  watch();
  offer();
});
watch();
offer();

/** What only some questions need is loaded with them. */
async function offer() {
  if ($("[data-events]", panel)) (await needed(() => import("./lab_events.js"), () => unanswered(panel))).offerEvents(panel, { api: page.config.api, who, queue: queueName });
}

function markedNow() {
  return markedBy($(".steps", panel).dataset.mark);
}

/** What is to be watched is lit, with the sealed prediction beside it. */
function watch() {
  const marked = markedNow(), { predicted } = $(".steps", panel).dataset;
  for (const old of $$(".lab-watch")) if (old !== marked) old.classList.remove("lab-watch"), delete old.dataset.predicted;
  if (!marked) return;
  if (predicted) marked.dataset.predicted = predicted;
  else delete marked.dataset.predicted;
  if (!marked.classList.contains("lab-watch")) looks = LOOKS;
  marked.classList.add("lab-watch");
  if (looks-- > 0 && !marked.contains(document.activeElement)) bring(marked);
}

function bring(marked) {
  marked?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function markedBy(mark) {
  const [kind, ...rest] = mark.split(":"), name = rest.join(":");
  if (kind === "queue") return $(`[data-queue="${CSS.escape(name)}"]`);
  if (kind === "member" || kind === "lock") return $(`.cons[data-actor="${CSS.escape(name)}"]`);
  if (kind === "header") return HEADER[name] ? $(HEADER[name])?.closest(".kpi, .side, .pill") : $(".pagehead");
  if (kind === "lanes") return $("#consumers");
  return kind === "journal" ? $("#journal")?.closest(".panel") : null;
}
