/* The player of a file that holds its recording. */
import { $ } from "./dom.js";
import { openPlayer } from "./player.js";

const packed = atob($("#recording").textContent.trim());
void openPlayer($("[data-player]"), { bytes: Uint8Array.from(packed, (sign) => sign.charCodeAt(0)) });
