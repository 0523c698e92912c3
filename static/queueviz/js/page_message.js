/* One message: its fields and its bytes light each other up; its life is a panel that htmx looks after. */
import { $ } from "./dom.js";
import { FrameBytes } from "./frame_bytes.js";
import { startShell } from "./shell.js";

startShell();
if ($("#record")) new FrameBytes($("#record"));
