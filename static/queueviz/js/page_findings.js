/* What is wrong: the server draws the list; a finding that opens or closes fetches it again (shell.js). */
import { keepFindingsFresh } from "./finding_pace.js";
import { startShell } from "./shell.js";

keepFindingsFresh(startShell());

// figures that a reader opened stay open when the list comes again
if (window.Idiomorph) Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => name !== "open" || node.tagName !== "DETAILS";
