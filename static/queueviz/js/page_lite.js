/* Lite: the sandbox runs in a worker of this page. It shows how far the worker is, then the tab that the address names. */
import { say } from "./announce.js";
import { $, $$, around, calm, el, hide, json, text } from "./dom.js";
import { duration } from "./format.js";
import { pathOf, resolved } from "./lite_addresses.js";
import { setUpClass } from "./lite_class.js";
import { LiteLink } from "./lite_link.js";
import { LiteRecorder } from "./lite_recorder.js";
import { runDoes, textHere } from "./lite_run.js";
import { LiteTabs } from "./lite_tabs.js";
import { setUpToasts } from "./toasts.js";
import { learn, t } from "./words.js";

const config = resolved(json("lite")), box = $("#lite-tabs"), state = $("#lite-state"), trouble = $("#lite-trouble"), meter = $("#lite-meter");
const MEGABYTE = 1e6, SURE_MS = 6000, KEPT_S = 365 * 24 * 3600;
const SERVER_TOO = [404, 422]; // refused there as well
const recipe = config?.kind === "recipe" ? textHere() : "";
/** @type {LiteLink | null} */
let link = null;
/** @type {LiteTabs | null} */
let tabs = null;
/** @type {LiteRecorder | null} */
let recorder = null;
let keptState = "", unsure = 0;

/** How pages are drawn. The server keeps it in cookies, from which it draws the next page: so does this one. An export has no cookies. */
const reader = () => ({ language, theme: document.documentElement.dataset.theme, details });
let language = document.documentElement.lang, details = /(?:^|; )details=1/.test(document.cookie);
function keep(name, value) {
  if (name === "details") details = value === 1;
  if (config.cookies) document.cookie = `${config.cookies[name] ?? name}=${value};path=/;max-age=${KEPT_S};samesite=lax`;
  else if (name === "theme") keepTheme(value);
}

function keepTheme(value) {
  try {
    localStorage.setItem("queueviz theme", value); // for js/lite/kept_theme.js
  } catch {
    // a frame that may keep nothing
  }
}

const megabytes = (bytes) => (bytes / MEGABYTE).toFixed(1);

function progress({ phase, loaded_bytes, total_bytes }) {
  if (phase === "loading") text(state, t("lite.loading", { loaded: megabytes(loaded_bytes), total: megabytes(total_bytes) }));
  else if (phase === "executing") text(state, t("lite.executing", { share: Math.floor(loaded_bytes * 100) }));
  else text(state, t("lite.starting"));
  if (phase !== "starting") [meter.max, meter.value] = [total_bytes, loaded_bytes];
  else if (!calm()) meter.removeAttribute("value");
}

/** @param {string} why @param {{ status: number, error: string, hint: string } | null} [refusal] of the engine, in the reader's language */
function fail(why, refusal = null) {
  end();
  hide($("#lite-loading"), true);
  hide(trouble, false);
  const isHopeless = SERVER_TOO.includes(refusal?.status ?? 0);
  const known = why.startsWith("class.") ? why : `lite.${why}`;
  text($("#lite-why"), refusal?.error ?? (t(known) === known.slice(known.indexOf(".") + 1) ? t("lite.engine") : t(known)));
  text($("#lite-hint"), refusal?.hint ?? "");
  hide($("#lite-again"), why === "unsupported" || why === "recipe" || isHopeless);
  for (const offer of $$("[data-lite=server]", trouble)) hide(offer, isHopeless);
  hide($("#lite-over"), Boolean(config.course) || isHopeless || !["engine", "memory", "refused"].includes(why)); // a run that was kept may be what fails
  trouble.focus();
}

/** One page that could not be drawn does not end the sandbox. */
function unanswered() {
  if (tabs?.isEmpty) return fail("answer");
  toast(t("lite.answer"));
}

/** @param {string} sentence */
function toast(sentence) {
  say(sentence);
  $("#toasts").append(el("div", { class: "toast" }, sentence));
}

const run = { ask: (path) => /** @type {LiteLink} */ (link).request("GET", path), recorded };
const does = config && runDoes(config, run, { refused: toast, copied: () => toast(t("lite.copied")) });

/** The recording of the run up to now. Its progress is in the bar. */
async function recorded() {
  const share = $("#lite-recording");
  say(t("lite.recording", { share: 0 }));
  try {
    return await /** @type {LiteRecorder} */ (recorder).whole((done) => text(share, t("lite.recording", { share: Math.floor(done * 100) })));
  } finally {
    text(share, "");
  }
}

const shutMenu = () => $(".downloads")?.removeAttribute("open");

/** Nothing of the sandbox is left in this page. */
function end() {
  tabs?.end();
  recorder?.end();
  link?.end();
}

/** What the bar has from this page alone: whether the run is kept, and the text in the fragment. */
function dress() {
  if (keptState) showKept(keptState);
  if (recipe) for (const node of $$("a[data-lite=server]")) node.hash = recipe;
}

/** Whether this browser keeps the sandbox for the next visit. A run that is kept can be deleted. @param {string} kept */
function showKept(kept) {
  keptState = kept;
  text($("#lite-kept"), t(`lite.${kept}`));
  hide($("#lite-over"), kept === "none" || kept === "other");
}

/** The first press asks, the second deletes the run. */
function startOver() {
  const isSure = "sure" in $("#lite-over").dataset;
  clearTimeout(unsure);
  arm(!isSure);
  if (isSure) {
    end();
    start({ fresh: true });
  } else unsure = setTimeout(arm, SURE_MS, false);
}

function arm(isArmed) {
  const button = $("#lite-over");
  button.toggleAttribute("data-sure", isArmed);
  text(button, t(isArmed ? "lite.sure" : "lite.over"));
}

function start({ fresh = false } = {}) {
  hide(trouble, true);
  hide($("#lite-loading"), false);
  if (typeof WebAssembly !== "object" || typeof Worker !== "function") return fail("unsupported");
  if (config.kind === "recipe" && !recipe) return fail("recipe");
  progress({ phase: "loading", loaded_bytes: 0, total_bytes: config.files.total_bytes });
  link = new LiteLink(config, reader);
  tabs = new LiteTabs({ box, link, root: config.root, start: config.first, recipe, unanswered });
  recorder = new LiteRecorder(config, link);
  const [made, shown, records] = [link, tabs, recorder];
  made.addEventListener("progress", ({ detail }) => progress(detail));
  made.addEventListener("failed", ({ detail }) => made === link && fail(detail.why, detail.refusal));
  made.addEventListener("ready", () => shown.first());
  made.addEventListener("kept", ({ detail }) => {
    showKept(detail.state);
    if (detail.state === "continued") toast(t("lite.ended"));
  });
  made.addEventListener("class", ({ detail }) => setUpClass(box).take(detail));
  made.addEventListener("slept", ({ detail }) => toast(t("lite.slept", { time: duration(detail.slept_ms) })));
  window.queuevizLite = {
    root: config.root,
    request: (method, path, body, headers) => (LiteRecorder.takes(method, path) ? records.answer(path, headers) : made.request(method, path, body, headers)),
    socket: (handlers) => made.socket(handlers),
    go: (address, options) => (options?.method === "POST" && address.endsWith(`${config.root}language/`) ? speak(options.body) : void shown.go(address, options)),
    reload: () => void shown.reload(),
    replaced: (address, how) => shown.replaced(address, how),
    outer: (address) => shown.outer(address),
    keep,
  };
  made.start({
    files: config.files, kind: config.kind, name: recipe || config.name, title: config.title, slug: config.slug, seed: null, fresh,
    root: config.root, static: config.static,
    home: config.home, course: config.course, origin: location.origin, language, theme: document.documentElement.dataset.theme,
  });
}

/** The form of the languages: the tab and the bar above it speak the new one; the sandbox runs on. */
async function speak(form) {
  language = new URLSearchParams(form).get("language") ?? language;
  keep("language", language);
  void tabs?.reload();
  const address = config.translated?.[language] ?? location.pathname;
  const page = await fetch(address).then((answer) => answer.text()).catch(() => "");
  const translated = new DOMParser().parseFromString(page, "text/html"), bar = $(".litebar", translated);
  if (!bar) return;
  for (const away of $$("a[href]", bar)) away.href = pathOf(away.getAttribute("href"), new URL(address, location.href));
  learn(JSON.parse($("#texts", translated).textContent));
  $(".litebar").replaceWith(bar);
  dress();
  document.documentElement.lang = translated.documentElement.lang;
}

if (config) {
  setUpToasts($("#toasts"));
  new MutationObserver(() => keep("theme", document.documentElement.dataset.theme)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  box.addEventListener("shown", () => hide($("#lite-loading"), true));
  addEventListener("pagehide", ({ persisted }) => persisted && end()); // a page that is put aside frees what it keeps
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
  $("#lite-again").addEventListener("click", () => start());
  document.addEventListener("click", ({ target }) => {
    if (!around(target, ".downloads summary")) shutMenu();
    if (around(target, "#lite-over")) startOver();
    else void does?.[around(target, "button[data-lite]")?.dataset.lite]?.().catch((error) => toast(error.message));
  });
  addEventListener("blur", shutMenu); // a click into the frame
  addEventListener("hashchange", () => recipe && recipe !== textHere() && location.reload());
  dress();
  start();
}
