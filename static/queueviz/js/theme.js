/* Theme and projector. The server writes the theme into the page from a cookie, so nothing flashes. */
import { $, $$, attr } from "./dom.js";

export function setUpTheme() {
  const root = document.documentElement, button = $("#theme"), projector = $("#proj");
  const dark = () => (root.dataset.theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : root.dataset.theme === "dark");
  if (button) attr(button, "aria-pressed", String(dark()));
  const flip = () => {
    const theme = dark() ? "light" : "dark";
    root.dataset.theme = theme;
    attr(button, "aria-pressed", String(theme === "dark"));
    const headers = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
    fetch(button.dataset.url, { method: "POST", redirect: "manual", headers, body: new URLSearchParams({ theme }) }).catch(() => {});
  };
  const project = () => {
    const on = root.toggleAttribute("data-projector");
    if (projector) attr(projector, "aria-pressed", String(on));
  };
  button?.addEventListener("click", flip);
  projector?.addEventListener("click", project);
  const rail = $("#rail-toggle");
  rail?.addEventListener("click", () => {
    const open = $(".app").dataset.rail !== "open";
    $(".app").dataset.rail = open ? "open" : "shut";
    attr(rail, "aria-expanded", String(open));
  });
  for (const menu of $$("details.menu"))
    document.addEventListener("click", ({ target }) => menu.open && !menu.contains(target) && (menu.open = false));
  return { theme: () => button && flip(), projector: project };
}
