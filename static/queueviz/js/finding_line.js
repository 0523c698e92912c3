/* The Board's line of the worst finding: *Why* opens its figures in the place of the second panel, "+2 more" the others
   below the line. Both are in the line's own answer, so figures and sentence are of one look. Escape closes what was
   opened last, and the focus returns to its button. */
import { $, $$, text } from "./dom.js";

const BUTTONS = { why: "#finding-why", more: "#finding-more" };
const none = document.createElement("i");

export function setUpFindingLine() {
  const main = $("#main") ?? document.body;
  let opened = /** @type {("why" | "more")[]} */ ([]);
  /** The answer is drawn closed, and morphed into the line: what is open is written here, without the memory of dom.js. */
  const show = () => {
    for (const name of /** @type {const} */ (["why", "more"])) {
      if (!$(BUTTONS[name])) opened = opened.filter((other) => other !== name);
      ($(BUTTONS[name]) ?? none).setAttribute("aria-expanded", String(opened.includes(name)));
    }
    ($("#finding-list") ?? none).hidden = !opened.includes("more");
    showFigures(opened.includes("why"));
  };
  const close = (name) => {
    opened = opened.filter((other) => other !== name);
    show();
    $(BUTTONS[name])?.focus();
  };
  const turn = (name) => {
    if (opened.includes(name)) return close(name);
    opened.push(name);
    show();
    if (name === "why") $("#why")?.scrollIntoView({ block: "nearest" });
  };
  main.addEventListener("click", ({ target }) => {
    if (target.closest(BUTTONS.why)) turn("why");
    else if (target.closest(BUTTONS.more)) turn("more");
    else if (target.closest("#figures-close")) close("why");
  });
  addEventListener("keydown", (event) => {
    const last = opened.at(-1);
    if (event.key !== "Escape" || !last || $("dialog[open], :popover-open")) return;
    event.preventDefault();
    close(last);
  });
  let before = [], focused = "";
  main.addEventListener("htmx:beforeSwap", ({ target }) => {
    if (target.id !== "finding") return;
    before = opened.includes("more") ? $$("#finding-list li").map((line) => line.cloneNode(true)) : [];
    focused = document.activeElement?.closest("#finding-list li")?.getAttribute("data-key") ?? "";
  });
  main.addEventListener("htmx:afterSwap", () => {
    if (before.length) keepOrder(before);
    show();
    if (focused) $(`#finding-list li[data-key="${CSS.escape(focused)}"] a`)?.focus(); // a list that was hidden for a moment lost it
    [before, focused] = [[], ""];
  });
}

/** Show the figures of the line in their panel, or give its place back. */
function showFigures(isOpen) {
  const panel = $("#why"), figures = $("#finding-figures > *");
  if (!panel) return;
  panel.hidden = !isOpen;
  if (!isOpen || !figures) return;
  text($("#figures-window"), figures.dataset.window ?? "");
  const body = $(".body", panel);
  if (body.innerHTML !== figures.outerHTML) body.innerHTML = figures.outerHTML;
}

/** While the list is open its rows stay where they are: a new one comes last, and one that has ended stays, marked. */
function keepOrder(before) {
  const list = $("#finding-list ul");
  if (!list) return;
  const now = new Map($$("li", list).map((line) => [line.dataset.key, line]));
  const kept = before.map((line) => {
    const newest = now.get(line.dataset.key) ?? line;
    newest.classList.toggle("ended", !now.delete(line.dataset.key));
    return newest;
  });
  list.replaceChildren(...kept, ...now.values());
}
