/* Messages: channel `messages/…` onto a table that holds still under the pointer, and searches whose answers come bit by
   bit until they end or the user stops them. */
import { say } from "./announce.js";
import { refuse } from "./ask.js";
import { $, $$, around, attr, hide, text } from "./dom.js";
import { number } from "./format.js";
import { emptyOr, Fields } from "./live_fields.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const NEXT_MS = 200, MOST_FOUND = 500;

const table = $("#messages"), arriving = $("#arriving"), found = $("#found");
const page = startShell({ keys: { ArrowDown: () => step(1), ArrowUp: () => step(-1), "/": () => $(".inp", shownFinder()).focus() } });
const { clock, config } = page;

// As they arrive.

const fields = new Fields($("#arriving"), clock);
let held = null, shown = null, latest = null;

if (config.channels.messages) show(page, config.channels.messages, (data) => {
  latest = data;
  paint();
});

const isHeld = () => table.matches(":hover") || table.contains(document.activeElement) || arriving.scrollTop > 0;

function paint() {
  const rows = latest.rows ?? {};
  held = shown && isHeld() ? (held ?? shown) : null;
  shown = held ?? { ...rows };
  fields.paint({ rows: shown });
  for (const row of $$("tr[data-key]", table)) attr($("a", row), "href", `${config.root}messages/${shown[row.dataset.key].msg_id}/`);
  for (const name of ["seen", "rest", "unseen"]) text($(`[data-n=${name}]`), number(latest[name]));
  hide($("[data-n=unseen]").parentElement, !latest.unseen);
  const more = held ? Object.keys(rows).filter((no) => !(no in held)).length : 0;
  hide($("#held"), !more);
  text($("#held"), more ? t("messages.held", { n: more }) : "");
  emptyOr("#arriving", "#no-messages", !Object.keys(shown).length);
}
for (const [node, leaves] of [[table, "pointerleave"], [table, "focusout"], [arriving, "scroll"]]) node.addEventListener(leaves, () => latest && setTimeout(paint));

function step(by) {
  if (document.activeElement !== document.body && !$("#main").contains(document.activeElement)) return;
  const list = document.activeElement?.closest("table.messages") ?? table, all = $$(".opens", list);
  const at = all.indexOf(document.activeElement);
  all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))]?.focus();
}
document.body.addEventListener("click", ({ target }) => {
  const row = around(target, "table.messages tbody tr");
  if (row && !around(target, "a, button")) $("a", row)?.click();
});

// Finding.

const shownFinder = () => $(`.findform[data-way="${$('[name="ui-way"]:checked').value}"]`);
let next = null, stopped = false;

document.body.addEventListener("htmx:configRequest", (event) => {
  const form = event.detail.elt.closest(".findform"), given = event.detail.parameters;
  if (!form || event.detail.elt !== form) return;
  stop();
  stopped = false;
  $(".answer", form).replaceChildren();
  for (const [side, name] of [["ui-from", "from_ms"], ["ui-to", "to_ms"]]) {
    const said = form.elements[side]?.value.trim();
    if (!form.elements[side]) continue;
    const at = said ? Date.parse(`${said.replace(" ", "T")}Z`) : null;
    if (said && Number.isNaN(at)) {
      event.preventDefault();
      attr(form.elements[side], "aria-invalid", "true");
      refuse(form, t("messages.time", { value: said }));
      return;
    }
    attr(form.elements[side], "aria-invalid", null);
    if (at === null) delete given[name];
    else given[name] = String(at);
  }
  remember(form);
});

/** The address holds the search, so that it can be passed on. */
function remember(form) {
  const address = new URL(location.href);
  for (const name of [...address.searchParams.keys()]) if (name.startsWith("s-")) address.searchParams.delete(name);
  address.searchParams.set("s-by", form.dataset.way);
  for (const { name, value } of form.elements) if (name && value && !name.endsWith("_ms")) address.searchParams.set(`s-${name.replace("ui-", "")}`, value);
  history.replaceState(null, "", address);
}

// a refusal stands in its form, an answer below all of them
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const form = detail.requestConfig?.elt?.closest(".findform");
  if (!form) return;
  if (detail.xhr.status >= 400) detail.target = $(".answer", form);
  else found.replaceChildren();
});
document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  const field = $(".refusal", detail.target)?.dataset.field, form = detail.target.closest(".findform");
  for (const input of form ? $$(".inp", form) : []) attr(input, "aria-invalid", input.name === field ? "true" : null);
  const more = $$(".more", found).at(-1);
  if (!more || !(detail.target === found || detail.requestConfig?.elt?.matches("[data-go]"))) return;
  const goes = "goesOn" in more.dataset && !stopped && Number(more.dataset.found) < MOST_FOUND;
  const button = $("[data-stop]", more);
  if (button) hide(button, !goes);
  if ($("[data-go]", more)) hide($("[data-go]", more), goes);
  if (goes) next = setTimeout(() => $("[data-go]", more)?.click(), NEXT_MS);
  else say($('[role="status"]', more).textContent);
});
found.addEventListener("click", ({ target, isTrusted }) => {
  if (target.closest("[data-stop]")) {
    stopped = true;
    stop();
    const more = target.closest(".more");
    hide(target.closest("[data-stop]"), true);
    hide($("[data-go]", more), false);
    $("[data-go]", more).focus();
  } else if (target.closest("[data-go]") && isTrusted) stopped = false;
});

function stop() {
  clearTimeout(next);
  next = null;
}

// not before htmx has taken the forms over: the browser would submit them by itself
if (new URL(location.href).searchParams.has("s-by")) addEventListener("load", () => shownFinder().requestSubmit());
