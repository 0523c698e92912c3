/* In the past, page parts are requested with their event; other requests are off, as the engine answers for the present.
   A script of its own, before those of the page: pages ask when they are loaded, and the drawing comes later. */
import { json } from "./dom.js";

const { root, replay } = json("live"), parts = `${root}part/`;
document.body.addEventListener("htmx:configRequest", (event) => {
  const { path, parameters } = event.detail;
  if (!path.startsWith(parts)) event.preventDefault();
  else if (!path.includes("at=")) parameters.at = String(replay.at);
});
