/* The table with the values of the drawing: loaded when opened, then every two seconds while it is open. */
import { $, attr, hide } from "./dom.js";

const EVERY_MS = 2000;

export function setUpTwin() {
  const twin = $("#twin"), toggle = $("#twin-toggle");
  if (!twin || !toggle) return () => {};
  let timer = 0;
  const set = (open) => {
    hide(twin, !open);
    attr(toggle, "aria-expanded", String(open));
    clearInterval(timer);
    timer = open ? setInterval(() => document.hidden || htmx.trigger(twin, "twin:tick"), EVERY_MS) : 0;
    if (open) htmx.trigger(twin, "twin:open");
  };
  const flip = () => set(twin.hidden);
  toggle.addEventListener("click", flip);
  document.body.addEventListener("queueviz:poll", () => (twin.hidden ? set(true) : htmx.trigger(twin, "twin:tick")));
  return flip;
}
