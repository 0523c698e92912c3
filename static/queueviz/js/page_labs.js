/* The list of labs: theme and keys. */
import { setUpKeys } from "./keys.js";
import { setUpTheme } from "./theme.js";

setUpKeys({ t: setUpTheme().theme });
