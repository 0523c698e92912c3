/* Articles and code: theme and keys; searching is htmx, and works without it too. */
import { $ } from "./dom.js";
import { setUpKeys } from "./keys.js";
import { setUpTheme } from "./theme.js";

const { theme } = setUpTheme();
setUpKeys({ t: theme, "/": () => $("#ledger-q").focus() });
