/* What a first look does not need (timers, offset span, messages at risk): shown by one button, and it stays so.
   A cookie keeps the choice, as it does the theme: the server then draws the page right from the first paint. */
import { keep } from "./address.js";
import { $, attr } from "./dom.js";

export function setUpDetails() {
  const button = $("#details"), app = $(".app");
  button?.addEventListener("click", () => {
    const on = app.toggleAttribute("data-details");
    attr(button, "aria-pressed", String(on));
    keep("details", on ? 1 : 0);
  });
}
