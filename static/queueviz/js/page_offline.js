/* The player of a file that holds its recording. */
import { $, json } from "./dom.js";
import * as player from "./player.js";
import { opened } from "./player_trouble.js";

/** What is in the file; of a text that is cut or changed, nothing. */
function unpacked() {
  try {
    return Uint8Array.from(atob($("#recording").textContent.trim()), (sign) => sign.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

void opened($("[data-player]"), { bytes: unpacked(), notes: json("notes") }, async () => player);
