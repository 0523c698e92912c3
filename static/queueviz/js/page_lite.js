/* Lite: the sandbox runs in a worker of this page. It shows how far the worker is, then the tab that the address names. */
import { say } from "./announce.js";
import { $, $$, calm, el, hide, json, text } from "./dom.js";
import { pathOf, resolved } from "./lite_addresses.js";
import { LiteLink } from "./lite_link.js";
import { LiteTabs } from "./lite_tabs.js";
import { setUpToasts } from "./toasts.js";
import { t } from "./words.js";

const config = resolved(json("lite")), box = $("#lite-tabs"), state = $("#lite-state"), trouble = $("#lite-trouble"), meter = $("#lite-meter");
const MEGABYTE = 1e6, KEPT_S = 365 * 24 * 3600;
/** @type {LiteLink | null} */
let link = null;
/** @type {LiteTabs | null} */
let tabs = null;

/** How pages are drawn. The server keeps it in cookies, from which it draws the next page: so does this one. An export has no cookies. */
const reader = () => ({ language, theme: document.documentElement.dataset.theme, details });
let language = document.documentElement.lang, details = /(?:^|; )details=1/.test(document.cookie);
function keep(name, value) {
  if (name === "details") details = value === 1;
  if (config.cookies) document.cookie = `${name}=${value};path=/;max-age=${KEPT_S};samesite=lax`;
}

const megabytes = (bytes) => (bytes / MEGABYTE).toFixed(1);

function progress({ phase, loaded_bytes, total_bytes }) {
  const isLoading = phase === "loading";
  text(state, isLoading ? t("lite.loading", { loaded: megabytes(loaded_bytes), total: megabytes(total_bytes) }) : t("lite.starting"));
  if (isLoading) [meter.value, meter.max] = [loaded_bytes, total_bytes];
  else if (!calm()) meter.removeAttribute("value");
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

/** One page that could not be drawn does not end the sandbox. */
function unanswered() {
  if (tabs?.isEmpty) return fail("answer");
  say(t("lite.answer"));
  $("#toasts").append(el("div", { class: "toast" }, t("lite.answer")));
}

function start() {
  hide(trouble, true);
  hide($("#lite-loading"), false);
  if (typeof WebAssembly !== "object" || typeof Worker !== "function") return fail("unsupported");
  progress({ phase: "loading", loaded_bytes: 0, total_bytes: config.files.total_bytes });
  link = new LiteLink(config, reader);
  tabs = new LiteTabs({ box, link, root: config.root, unanswered });
  const [made, shown] = [link, tabs];
  made.addEventListener("progress", ({ detail }) => progress(detail));
  made.addEventListener("failed", ({ detail }) => made === link && fail(detail.why));
  made.addEventListener("ready", () => shown.first());
  window.queuevizLite = {
    root: config.root,
    request: (...asked) => made.request(...asked),
    socket: (handlers) => made.socket(handlers),
    go: (address, options) => (options?.method === "POST" && address.endsWith(`${config.root}language/`) ? speak(options.body) : void shown.go(address, options)),
    reload: () => void shown.reload(),
    replaced: (address, how) => shown.replaced(address, how),
    outer: (address) => shown.outer(address),
    keep,
  };
  made.start({
    files: config.files, kind: config.kind, name: config.name, slug: config.slug, seed: null, root: config.root, static: config.static,
    home: config.home, language, theme: document.documentElement.dataset.theme,
  });
}

/** The form of the languages: the tab and the bar above it speak the new one; the sandbox runs on. */
async function speak(form) {
  language = new URLSearchParams(form).get("language") ?? language;
  keep(config.cookies?.language, language);
  void tabs?.reload();
  const address = config.translated?.[language] ?? location.pathname;
  const page = await fetch(address).then((answer) => answer.text()).catch(() => "");
  const translated = new DOMParser().parseFromString(page, "text/html"), bar = $(".litebar", translated);
  if (!bar) return;
  for (const link of $$("a[href]", bar)) link.href = pathOf(link.getAttribute("href"), new URL(address, location.href));
  $(".litebar").replaceWith(bar);
  document.documentElement.lang = translated.documentElement.lang;
}

if (config) {
  setUpToasts($("#toasts"));
  new MutationObserver(() => keep(config.cookies?.theme, document.documentElement.dataset.theme)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  box.addEventListener("shown", () => hide($("#lite-loading"), true));
  $("#lite-again").addEventListener("click", start);
  start();
}
