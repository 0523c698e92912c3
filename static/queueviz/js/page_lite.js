/* Lite: the sandbox runs in a worker of this page. It shows how far the worker is, then the tab that the address names. */
import { $, hide, json, text } from "./dom.js";
import { LiteLink } from "./lite_link.js";
import { LiteTabs } from "./lite_tabs.js";
import { t } from "./words.js";

const config = json("lite"), box = $("#lite-tabs"), state = $("#lite-state"), trouble = $("#lite-trouble"), meter = $("#lite-meter");
const MEGABYTE = 1e6;
/** @type {LiteLink | null} */
let link = null;
/** @type {LiteTabs | null} */
let tabs = null;

const megabytes = (bytes) => (bytes / MEGABYTE).toFixed(1);

function progress({ phase, loaded_bytes, total_bytes }) {
  const isLoading = phase === "loading";
  text(state, isLoading ? t("lite.loading", { loaded: megabytes(loaded_bytes), total: megabytes(total_bytes) }) : t("lite.starting"));
  if (isLoading) [meter.value, meter.max] = [loaded_bytes, total_bytes];
  else meter.removeAttribute("value");
}

/** @param {string} why */
function fail(why) {
  tabs?.end();
  link?.end();
  hide($("#lite-loading"), true);
  hide(trouble, false);
  text($("#lite-why"), t(`lite.${why}`) === why ? t("lite.engine") : t(`lite.${why}`));
  hide($("#lite-again"), why === "unsupported");
  trouble.focus();
}

function start() {
  hide(trouble, true);
  hide($("#lite-loading"), false);
  if (typeof WebAssembly !== "object" || typeof Worker !== "function") return fail("unsupported");
  progress({ phase: "loading", loaded_bytes: 0, total_bytes: config.files.total_bytes });
  link = new LiteLink(config.worker, config.root);
  tabs = new LiteTabs({ box, link, root: config.root, failed: fail });
  const [made, shown] = [link, tabs];
  made.addEventListener("progress", ({ detail }) => progress(detail));
  made.addEventListener("failed", ({ detail }) => made === link && fail(detail.why));
  made.addEventListener("ready", () => shown.first());
  window.queuevizLite = {
    root: config.root,
    request: (...asked) => made.request(...asked),
    socket: (handlers) => made.socket(handlers),
    go: (address, options) => void shown.go(address, options),
    reload: () => void shown.reload(),
    replaced: (address, how) => shown.replaced(address, how),
    outer: (address) => shown.outer(address),
  };
  made.start({
    files: config.files, template: config.template, slug: config.slug, seed: null, root: config.root, static: config.static,
    language: document.documentElement.lang, theme: document.documentElement.dataset.theme,
  });
}

if (config) {
  box.addEventListener("shown", () => hide($("#lite-loading"), true));
  $("#lite-again").addEventListener("click", start);
  start();
}
