/* Opens a player; a fault of its recording is shown in its place, or beside the part that still plays. */
import { $, $$, hide, text } from "./dom.js";
import { t } from "./words.js";

/**
 * @param {HTMLElement} element
 * @param {object} o as `openPlayer` takes it; its `failed` gets the error of a part
 * @param {() => Promise<{ openPlayer: any } | null>} load the player's module; null: it cannot be had
 * @returns {Promise<any>} the player; null: nothing of it can be played
 */
export async function opened(element, o, load) {
  const say = (kind) => {
    text($("[data-bad]", element), t(`player.bad ${kind}`));
    hide($("[data-bad]", element), false);
  };
  const failed = (error) => say(kindOf(error)), player = await load();
  try {
    if (player) return await player.openPlayer(element, { ...o, failed });
    say("unreachable");
  } catch (error) {
    failed(error);
  }
  for (const part of $$("[data-board], .said, .controls", element)) hide(part, true);
  return null;
}

/** An invalid file may cause any error. */
function kindOf(error) {
  return error?.constructor.name === "BadRecording" ? error.message : "damaged";
}
