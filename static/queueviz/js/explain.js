/* What explains itself: pointed at, focused or tapped, its words from the page's one list stand beside it. The same words are
   its description for who listens; Escape puts them away. */
import { $, attr, el, hide } from "./dom.js";

export function setUpExplanations() {
  const box = el("div", { class: "peek said", hidden: "" });
  document.body.append(box);
  let shown = null;

  const show = (thing) => {
    if (thing === shown) return;
    if (shown) attr(shown, "aria-expanded", null);
    shown = thing;
    hide(box, !thing);
    if (!thing) return;
    box.replaceChildren($(`#why-${thing.dataset.why}`).cloneNode(true));
    box.firstChild.removeAttribute("id");
    attr(thing, "aria-expanded", "true");
    const at = thing.getBoundingClientRect(), { offsetWidth: w, offsetHeight: h } = box, below = at.bottom + 6 + h < innerHeight;
    box.style.left = `${Math.max(8, Math.min(innerWidth - w - 8, at.left))}px`;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - h - 6)}px`;
  };
  const of = (node) => node?.closest?.("[data-why]") ?? $("[data-why]", node?.closest?.(".kpi") ?? box);

  document.addEventListener("pointerover", ({ target, pointerType }) => pointerType === "mouse" && show(of(target)));
  document.addEventListener("focusin", ({ target }) => show(of(target)));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("click", ({ target }) => show(of(target)));
  addEventListener("keydown", ({ key }) => key === "Escape" && show(null));
  addEventListener("scroll", ({ target }) => target.contains(shown) && show(null), { capture: true, passive: true });
}
