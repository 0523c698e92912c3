/* Pages without a drawing: connection, keys, actions. A list that an action changes is fetched again. */
import { startShell } from "./shell.js";

startShell();
document.body.addEventListener("queueviz:acted", () => setTimeout(() => htmx.trigger(document.body, "queueviz:shape"), 300));
