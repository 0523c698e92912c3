/* Actions: buttons and small dialogs post an action by htmx. The response is an event number; the button shows it until
   the stream has passed it. A refusal is a sentence beside the control, and focus moves there. */
import { $, $$, around, el } from "./dom.js";
import { number } from "./format.js";
import { later } from "./later.js";
import { setUpToasts } from "./toasts.js";
import { t } from "./words.js";

const PASSING_MS = 10000; // display time of a temporary refusal: too fast, too busy, no response
const sent = new Map(); // seq → button
/** @type {import("./clock.js").SandboxClock | null} */
let clock = null; // the sandbox's
let address = ""; // of the sandbox
const UNDO_MS = 20000;

/**
 * `followed`: the element for the sentence about what an action led to; by default it is one of the lines in the corner.
 * @param {{ root: string, can: string[], time?: import("./clock.js").SandboxClock | null, followed?: string }} options
 */
export function setUpActions({ root, can, time = null, followed = "" }) {
  clock = time;
  address = root;
  setUpToasts($("#toasts"));
  const url = `${root}actions/`;
  const answers = followed ? { target: followed, swap: "innerHTML" } : { target: "#toasts", swap: "beforeend" };
  document.body.addEventListener("click", (event) => {
    const button = around(event.target, "button, a");
    if (!button || button.getAttribute("aria-disabled") === "true") return button && event.preventDefault();
    if (button.dataset.ask) openAsk(button.dataset.ask, button, button.dataset.actor ?? null);
    else if (button.dataset.act) actOn(button, url);
    else if (button.dataset.dismiss !== undefined) button.closest(".toast").remove();
    else if (button.dataset.close !== undefined) button.closest("dialog").close();
    else if (button.dataset.copy !== undefined) later(() => import("./ask_dialog.js"), () => unanswered(button)).then((it) => it?.copy(button));
  });
  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    for (const name of Object.keys(detail.parameters)) if (name.startsWith("ui-")) delete detail.parameters[name];
  });
  document.body.addEventListener("queueviz:acted", ({ target, detail }) => {
    acted(target, detail.seq);
    if (detail.follow) htmx.ajax("GET", `${address}ask/what-followed/?seq=${detail.seq}`, answers).catch(() => {}); // it may sleep by now
  });
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    const said = $(".refusal", detail.target);
    said?.focus();
    if (["429", "503"].includes(said?.dataset.status)) setTimeout(() => said.remove(), PASSING_MS);
  });
  document.body.addEventListener("input", ({ target }) => $(".answer > .refusal", around(target, "form") ?? target)?.remove()); // of what the form said before
  for (const failed of ["htmx:sendError", "htmx:responseError"]) document.body.addEventListener(failed, ({ detail }) => isWanted(detail.requestConfig) && unanswered(detail.elt));
  $("#share")?.addEventListener("click", ({ currentTarget }) => openAsk("share", currentTarget));
  return { act: (values, near) => post(url, values, near), can: (verb) => can.includes(verb) };
}

/** True for a request by a person. Requests that the page repeats itself are covered by the connection bar. */
const isWanted = ({ verb, path, triggeringEvent }) => (verb !== "get" && !path.endsWith("/progress/")) || Boolean(triggeringEvent?.isTrusted);

/** A card's button: the button has the verb, its card the actor. */
function actOn(button, url) {
  const card = button.closest("[data-actor]"), actor = card?.dataset.actor;
  if (["slow", "change"].includes(button.dataset.act)) openAsk(button.dataset.act, button, actor);
  else if (button.dataset.act === "CrashActor") openAsk("crash", button, actor);
  else if (button.dataset.act === "CutConnection") post(url, { action: "CutConnection", client_id: card.dataset.client ?? card.dataset.key }, button);
  else post(url, { action: button.dataset.act, actor }, button);
}

/** Send only these values: htmx would add the fields of the form around `near`. */
export function post(url, values, near) {
  near.setAttribute("hx-params", Object.keys(values).join(","));
  const slot = near.closest(".cons[data-client], .adds, form, section")?.querySelector(".answer") ?? near.parentElement?.querySelector(".answer");
  slot?.replaceChildren();
  return htmx.ajax("POST", url, { source: near, values, target: slot ?? "#toasts", swap: "innerHTML" }).catch(() => {}); // htmx:sendError has said it
}

/** Load dialogs and their opener after the first view. */
export async function openAsk(name, opener = null, actor = null) {
  const failed = () => unanswered(opener ?? document.body), dialogs = await later(() => import("./ask_dialog.js"), failed);
  if (dialogs && !(await dialogs.openDialog(name, { actor, clock }))) failed();
}

function acted(target, seq) {
  const dialog = target.closest?.("dialog#ask");
  if (dialog) dialog.close();
  target.closest?.(".cons[data-client], .adds, form, section")?.querySelector(".answer")?.replaceChildren();
  const button = dialog ? null : target.matches?.("button") ? target : target.querySelector?.("button");
  if (!button || !seq) return;
  button.dataset.sent = t("act.sent", { seq: number(seq) });
  sent.set(seq, button);
  setTimeout(() => settle(seq), 4000);
}

function settle(seq) {
  const button = sent.get(seq);
  if (button) delete button.dataset.sent;
  sent.delete(seq);
}

/** Confirm the waiting buttons up to this event, which the stream has reached. */
export function reached(seq) {
  for (const mark of sent.keys()) if (BigInt(mark) <= BigInt(seq)) settle(mark);
}

export const unanswered = (near) => refuse(near, t("act.failed"), "503");

/** Remove the notice of a lost connection once the server answers again. */
export function answered() {
  for (const said of $$('.refusal[data-status="503"]')) said.remove();
}

export function refuse(near, line, status = "") {
  const slot = near.closest?.(".cons[data-client], .adds, form, section, dialog")?.querySelector(".answer");
  const node = el("div", { class: "refusal", role: "alert", tabindex: "-1", "data-status": status }, line);
  if (slot) slot.replaceChildren(node);
  else toast(line);
  if (slot) node.focus();
  setTimeout(() => node.remove(), PASSING_MS);
}

/**
 * A short word in the corner; with `undo`, a button that stays longer.
 * @param {string} line
 * @param {{ label: string, act: (button: HTMLElement) => void } | null} [undo]
 */
export function toast(line, undo = null) {
  const node = el("div", { class: "toast" }, line);
  if (undo) {
    const button = el("button", { type: "button" }, undo.label);
    button.onclick = () => {
      undo.act(button);
      node.remove();
    };
    node.append(button);
  }
  if (undo) node.dataset.lasts = String(UNDO_MS);
  $("#toasts").append(node);
}
