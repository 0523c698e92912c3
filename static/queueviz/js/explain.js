/* Explanations: on hover, focus or tap, a text appears beside the element. The same text is its description for
   screen readers; Escape hides it. Loaded at the first use, not with the first view. The mark of a difference from the
   articles brings its own text, which a click opens in place. */
import { $, around, attr, el, hide } from "./dom.js";

/** `first`: what was pointed at, focused or tapped before this was loaded. */
export function setUpExplanations({ root }, first = null) {
  const box = el("div", { class: "peek said", hidden: "" });
  let shown = null, list = null;

  const words = () => (list ??= fetch(`${root}part/why/`).then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)))
    .then((html) => document.body.insertAdjacentHTML("beforeend", html)).catch(() => (list = null)));
  const show = async (thing) => {
    if (thing === shown) return;
    if (shown) attr(shown, "aria-expanded", null);
    shown = thing;
    hide(box, true);
    if (!thing) return;
    if (thing.dataset.why) await words();
    const said = thing.dataset.why ? $(`#why-${thing.dataset.why}`) : thing.nextElementSibling;
    if (!said || shown !== thing) return;
    (thing.closest("dialog") ?? document.body).append(box); // above a dialog, where it is in one
    box.replaceChildren(...said.cloneNode(true).childNodes);
    hide(box, false);
    if (thing.dataset.why) attr(thing, "aria-expanded", "true");
    const at = thing.getBoundingClientRect(), { offsetWidth: w, offsetHeight: h } = box, below = at.bottom + 6 + h < innerHeight;
    box.style.left = `${Math.max(8, Math.min(innerWidth - w - 8, at.left))}px`;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - h - 6)}px`;
  };
  const of = (node) => node?.closest?.("[data-why], .differs:not([open]) > summary") ?? $("[data-why]", node?.closest?.(".kpi") ?? box);

  document.addEventListener("pointerover", ({ target, pointerType }) => pointerType === "mouse" && show(of(target)));
  document.addEventListener("focusin", words, { once: true }); // a description is there before its thing is reached
  document.addEventListener("focusin", ({ target }) => show(of(target)));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("click", ({ target }) => show(around(target, "summary") ? null : of(target)));
  addEventListener("keydown", ({ key }) => key === "Escape" && show(null));
  addEventListener("scroll", ({ target }) => target instanceof Node && target.contains(shown) && show(null), { capture: true, passive: true });
  if (first) {
    if (document.activeElement !== document.body) words();
    show(of(first));
  }
}
