/* Notify an LMS after its registration that its frame or window can be closed. */
import { $ } from "./dom.js";
import { setUpTheme } from "./theme.js";

setUpTheme();
const origin = $("#registered").dataset.origin;
if (origin) (window.opener ?? window.parent).postMessage({ subject: "org.imsglobal.lti.close" }, origin);
