/* One message: its fields and its bytes light each other up; its life is a panel that htmx looks after. */
import { $, hide, json, text } from "./dom.js";
import { FrameBytes } from "./frame_bytes.js";
import { startShell } from "./shell.js";
import { t } from "./words.js";

startShell();
if ($("#record")) new FrameBytes($("#record"));

const copy = $("#body-copy");
if (copy && navigator.clipboard) {
  hide(copy, false);
  copy.addEventListener("click", async () => {
    const done = await navigator.clipboard.writeText(json("body-text")).then(() => true, () => false);
    text($("#body-copied"), t(done ? "message.copied" : "message.not_copied"));
  });
}
