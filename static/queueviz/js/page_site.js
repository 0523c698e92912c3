/* Pages outside a sandbox that have no script of their own: theme and keys. */
import { setUpKeys } from "./keys.js";
import { setUpTheme } from "./theme.js";

setUpKeys({ t: setUpTheme().theme });
