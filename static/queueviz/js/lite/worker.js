/* Worker of Lite: Python (Pyodide) with the engine and the pages. Loads the files, creates the sandbox, then answers the
   page: `request` by the site, `open`, `hear` and `close` by the engine's sockets, `files` for the recorder. */
import { beginClass } from "./class_run.js";
import { HOME, feed, hex, startPython } from "./python.js";
import { Saved } from "./saved.js";

const SAVE_MS = 5000, SAVE_SHARE = 0.01, BEAT_MS = 1000, SLEPT_MS = 10000;
const SENDS_FEED = /(?:^|&)feed=flights(?:&|$)/;
const NO_MEMORY = /out of memory|memoryerror|could not allocate|allocation failed/i;

let py, lite, site, order, ready, coming, run;
/** @type {Saved | null} */
let saved = null;

const say = (n, text) => postMessage({ k: "say", n, text });
const toldClosed = (n, code) => postMessage({ k: "closed", n, code });

async function begin(message) {
  order = message;
  const log = savedLog();
  const { total_bytes } = order.files, phase = (name, loaded_bytes) => postMessage({ k: "progress", phase: name, loaded_bytes, total_bytes });
  py = await startPython(order.files, (loaded_bytes) => phase("loading", loaded_bytes), () => phase("starting", total_bytes));
  const executed = (share) => postMessage({ k: "progress", phase: "executing", loaded_bytes: share, total_bytes: 1 });
  let refusal = null;
  const refused = (status, error, hint) => void (refusal = { status, error, hint });
  const named = (error) => {
    throw Object.assign(error, refusal && { why: "refused", refusal });
  };
  if (order.course) {
    const parts = { say, closed: toldClosed, feed: theFeed, log: await log, saved, executed, refused };
    ({ lite, run } = await beginClass(py, order, parts).catch(named));
    return;
  }
  const begun = await py.runPythonAsync(`
from sandbox.kernel.errors import SandboxError
from sandbox.lite.entry import Lite, reads_flights

async def begin(home, say, closed, slug, kind, name, seed, progress, log, feed, refused, language, static):
    log = log.to_bytes()
    try:
        if reads_flights(kind, name, log):
            coming = feed()
            if log or kind in ("incident", "recipe"):
                await coming
        lite = Lite(home, say, closed, log=log)
        if lite.restored_bytes:
            return lite, await lite.resume(), lite.restored_bytes
        await lite.begin(slug, kind, name, seed, progress)
    except SandboxError as error:
        from queueviz.lite.site import refusal
        refused(*refusal(error, language=language, static=static))
        raise
    return lite, slug, 0

begin`);
  const given = [order.slug, order.kind, order.name, order.seed ?? undefined, executed, await log, theFeed, refused, order.language, order.static];
  const made = await begun(HOME, say, toldClosed, ...given).catch(named);
  let restored_bytes;
  [lite, order.slug, restored_bytes] = made;
  made.destroy();
  if (saved === null) return;
  if (restored_bytes) saved.cut(restored_bytes);
  kept(restored_bytes ? "continued" : "kept");
  save();
}

const kept = (state) => postMessage({ k: "kept", state });

/** What this browser has kept of the sandbox; empty if that is nothing, or the reader starts over. */
async function savedLog() {
  try {
    const name = new TextEncoder().encode(`${order.root} ${order.kind} ${order.name}`);
    saved = await Saved.open(hex(await crypto.subtle.digest("SHA-256", name)));
    if (order.fresh) saved.clear();
    return saved.read();
  } catch (error) {
    kept(error instanceof Error && error.message === "other" ? "other" : "none");
    return new Uint8Array();
  }
}

/** The larger the run, the longer a save takes, and the rarer it is. */
function save() {
  const began_ms = performance.now(), made = lite.record();
  if (!made || saved === null) return kept("large");
  const [record, begins] = made, bytes = record.toJs();
  record.destroy();
  made.destroy();
  try {
    if (begins) saved.begin(bytes);
    else if (bytes.length) saved.append(bytes);
    setTimeout(save, Math.max(SAVE_MS, (performance.now() - began_ms) / SAVE_SHARE));
  } catch (error) {
    console.warn(error);
    kept("full");
  }
}

/** A browser may stop a hidden tab; the sandbox stops with it. */
function watchSleep() {
  let last_ms = Date.now();
  setInterval(() => {
    const now_ms = Date.now(), slept_ms = now_ms - last_ms - BEAT_MS;
    last_ms = now_ms;
    if (slept_ms > SLEPT_MS) postMessage({ k: "slept", slept_ms });
  }, BEAT_MS);
}

/** Without the rest of the feed, it begins again after the part that is there. */
function theFeed() {
  return (coming ??= feed(py, order.files.feed).catch((error) => {
    console.warn(error);
    coming = undefined;
  }));
}

/** The pages' own modules, at the first request. */
function theSite() {
  return (site ??= (async () => {
    const make = await py.runPythonAsync(`
from queueviz.lite.pages import Course
from queueviz.lite.site import CAN, Site
from sandbox.control.rights import VERBS, can
from sandbox.lite.class_port import STUDENT

def make(lite, slug, root, static, home, name, run, course, scores):
    port, of_course, may = lite.port, None, CAN
    if run is not None:
        port, may = run.port, {verb: can(STUDENT.role, verb) for verb in VERBS}
        of_course = Course(course, STUDENT, scores, port.is_closed)
    site = Site(port, slug, lite.directory(slug), root=root, static=static, home=home, name=name, can=may, course=of_course)

    async def answer(method, path, body, language, theme, details, htmx):
        answered = await site.answer(method, path, body, language=language, theme=theme, details=details, htmx=htmx)
        return answered.status, dict(answered.headers), answered.body

    return answer

make`);
    return make(lite, order.slug, order.root, order.static, order.home, order.title, run, order.course?.slug ?? "", order.course?.scores ?? true);
  })());
}

async function answer({ id, method, path, body, headers, reader: { language, theme, details } }) {
  const ask = await theSite(), made = await ask(method, path, body ?? "", language, theme, details, headers["hx-request"] === "true");
  const [status, answered, text] = made.toJs({ dict_converter: Object.fromEntries });
  made.destroy();
  postMessage({ k: "answer", id, status, headers: answered, body: text });
}

/** All files of the sandbox, for another worker. */
function files({ id }) {
  const made = lite.files(), bytes = made?.toJs();
  made?.destroy();
  postMessage({ k: "answer", id, bytes }, { transfer: bytes ? [bytes.buffer] : [] });
}

async function take(message) {
  if (message.k === "request" && message.path === "actions/" && SENDS_FEED.test(message.body ?? "")) theFeed();
  if (message.k === "request") await answer(message);
  else if (message.k === "files") files(message);
  else if (message.k === "open") lite.open(message.n);
  else if (message.k === "hear") await lite.hear(message.n, message.text);
  else if (message.k === "close") lite.close(message.n);
}

/** One word, for which the page has a sentence. */
function why(error) {
  if (error.why) return error.why;
  if (error instanceof RangeError || NO_MEMORY.test(String(error))) return "memory";
  return error instanceof TypeError && py === undefined ? "network" : "engine";
}

function failed(error) {
  if (!error.refusal) console.error(error);
  postMessage({ k: "failed", why: why(error), refusal: error.refusal ?? null });
}

onmessage = ({ data }) => {
  if (data.k === "start") {
    ready = begin(data).then(() => {
      postMessage({ k: "ready" });
      watchSleep();
    });
    ready.catch(failed);
  } else
    ready?.then(() => take(data)).catch((error) => {
      if (why(error) === "memory") return failed(error);
      console.error(error);
      if (data.id) postMessage({ k: "answer", id: data.id, status: 500, headers: {}, body: "" });
    });
};

export {};
