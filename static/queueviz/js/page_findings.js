/* What is wrong: the server draws the list; a finding that opens or closes fetches it again (shell.js). */
import { startShell } from "./shell.js";

startShell();
