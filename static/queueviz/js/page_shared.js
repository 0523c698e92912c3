/* What a share link shows: the player over its recording, alone or in a page of another site. */
import { $, around, json } from "./dom.js";

const shared = json("shared"), element = $("[data-player]");

/** Its height, for the page around it, each time it changes. */
if (window.parent !== window)
  new ResizeObserver(() => window.parent.postMessage({ type: "queueviz:height", height: document.documentElement.scrollHeight }, "*")).observe(document.body);

/** In an article nothing is asked for before the reader comes near. */
function whenSeen(node, open) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    open();
  }, { rootMargin: "200px" });
  watch.observe(node);
}

if (element)
  whenSeen(element, async () => {
    const { openPlayer } = await import("./player.js");
    const player = await openPlayer(element, shared);
    $("#notes")?.addEventListener("click", ({ target }) => {
      const button = around(target, "[data-seq]");
      if (button) player.set(Number(button.dataset.seq));
    });
    new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting || player.pause()).observe(element);
  });
