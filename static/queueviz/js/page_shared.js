/* The page of a share link: the player with its recording, alone or embedded in another site. */
import { $, $$, around, hide, json, text } from "./dom.js";
import { later } from "./later.js";
import { opened } from "./player_trouble.js";
import { saveFile } from "./save_file.js";
import { t } from "./words.js";

const shared = json("shared"), element = $("[data-player]");
const STEP_MS = 250; // of a moving picture

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

if (!element && $("[data-waits]")) setTimeout(() => location.reload(), 3000);
else if (element)
  whenSeen(element, async () => {
    const player = await opened(element, shared, () => later(() => import("./player.js")));
    if (!player) return hide($("#pictures")?.parentElement, true);
    $("#notes")?.addEventListener("click", ({ target }) => {
      const button = around(target, "[data-seq]");
      if (button) player.set(Number(button.dataset.seq));
    });
    for (const button of $$("[data-picture]")) button.addEventListener("click", () => picture(player, button.dataset.picture === "moving"));
    new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting || player.pause()).observe(element);
  });

/** The board as an SVG file, still or as the next half minute. */
async function picture(player, moves) {
  const unreachable = () => text($("#pictures"), t("player.bad unreachable"));
  const drawings = await later(() => Promise.all([import("./still.js"), import("./still_styles.js")]), unreachable);
  if (!drawings) return;
  const [{ still, moving, MOST_MS }, { stylesOfPage }] = drawings;
  text($("#pictures"), "");
  const frames = await boards(player, moves ? MOST_MS : 0), title = document.title.split(" · ")[0];
  if (!frames.length) return;
  const texts = { title, desc: t("player.desc", { n: Object.keys(frames[0].board.queues).length }), event: t("timeline.event", { seq: "{seq}" }), ...stylesOfPage() };
  try {
    const drawn = moves ? moving(frames, texts) : still(frames[0], texts);
    saveFile(drawn, "image/svg+xml", `queueviz-${frames[0].seq}.svg`);
  } catch (error) {
    $("#pictures").textContent = t(`player.${/** @type {Error} */ (error).message}`);
  }
}

/** What is shown, and what follows within `lasts_ms` of the sandbox's clock: `{seq, at_ms, board, fact}`. */
async function boards(player, lasts_ms) {
  const { element: drawn, recording, shown, last: end } = player;
  const channel = $("[data-boards]", drawn).value, found = [];
  for (let ms = 0; ms <= lasts_ms; ms += STEP_MS) {
    const { seq, at_ms, state, last } = await recording.atTime(shown.at_ms + ms), board = state.channels[channel];
    if (board && at_ms !== found.at(-1)?.at_ms) found.push({ seq, at_ms, board, fact: player.factAt(seq) });
    if (last || seq >= end) break;
  }
  return found;
}
