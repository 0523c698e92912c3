/* Worker of Lite: Python (Pyodide) with the engine and the pages. Loads the files, creates the sandbox, then answers the
   page: `request` by the site, `open`, `hear` and `close` by the engine's sockets. */
import { Saved } from "./saved.js";

const APP = "/app", HOME = "/home/queueviz";
const SAVE_MS = 5000, SAVE_SHARE = 0.01, BEAT_MS = 1000, SLEPT_MS = 10000;
const FEED = `${HOME}/feeds/flights-by-time.1.csv`, SENDS_FEED = /(?:^|&)feed=flights(?:&|$)/;
const NO_MEMORY = /out of memory|memoryerror|could not allocate|allocation failed/i;

let py, lite, site, order, ready, feed;
/** @type {Saved | null} */
let saved = null;
let loaded_bytes = 0;

const say = (n, text) => postMessage({ k: "say", n, text });
const toldClosed = (n, code) => postMessage({ k: "closed", n, code });

function came(bytes) {
  loaded_bytes = Math.min(order.files.total_bytes, loaded_bytes + bytes);
  postMessage({ k: "progress", phase: "loading", loaded_bytes, total_bytes: order.files.total_bytes });
}

/** A pack's bytes; it counts as it comes, in bytes of the transfer. */
async function fetched({ url, size_bytes, raw_bytes }) {
  const file = await plainly(url);
  if (!file.ok || !file.body) throw new TypeError(`${url}: ${file.status}`);
  let left = size_bytes;
  const counted = file.body.pipeThrough(new TransformStream({
    transform(chunk, out) {
      const more = Math.min(left, (chunk.byteLength * size_bytes) / raw_bytes);
      left -= more;
      came(more);
      out.enqueue(chunk);
    },
  }));
  return unpacked(new Response(counted));
}

/** Bytes of an archive, which an export has as .gz. Some hosts declare that as its encoding, and the browser has unpacked it. */
async function unpacked(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

/** Pyodide fetches its own files. Not every host knows the type of WASM, without which no browser compiles it. */
const plainly = fetch, WASM = "application/wasm";
globalThis.fetch = async (input, options) => {
  const file = await plainly(input, options);
  if (file.ok && file.url.endsWith(".gz")) return new Response(await unpacked(file));
  if (file.ok && file.url.endsWith(".wasm") && file.headers.get("content-type") !== WASM) return new Response(file.body, { headers: { "content-type": WASM } });
  return file;
};

/** Pyodide fetches its own files, so that the browser compiles while it loads and keeps what it compiled: counted when they are there. */
function countOwn(folder, packs) {
  let left = order.files.total_bytes - packs.reduce((sum, pack) => sum + pack.size_bytes, 0);
  const names = new Set(packs.map(({ url }) => new URL(url, location.href).href));
  new PerformanceObserver((list) => {
    for (const { name, encodedBodySize } of /** @type {PerformanceResourceTiming[]} */ (list.getEntriesByType("resource"))) {
      if (!name.startsWith(folder) || names.has(name)) continue;
      const more = Math.min(left, encodedBodySize);
      left -= more;
      came(more);
    }
  }).observe({ type: "resource", buffered: true });
}

/** Python imports from an archive of modules as it is; pages and a wheel need files. */
function unpack({ url, use }, bytes) {
  if (use === "path") {
    const path = `${APP}/${url.split("/").at(-1).replace(/\.gz$/, "")}`;
    py.FS.writeFile(path, bytes);
    py.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(path)})`);
  } else py.unpackArchive(bytes, use === "wheel" ? "wheel" : "zip", use === "wheel" ? {} : { extractDir: "/" });
}

async function begin(message) {
  order = message;
  const log = savedLog();
  const { pyodide, packs } = order.files, url = new URL(pyodide, location.href).href, folder = new URL("./", url).href;
  const ours = packs.filter(({ use }) => use !== "stdlib"), own = packs.find(({ use }) => use === "stdlib");
  countOwn(folder, ours);
  const loading = Promise.all(ours.map(fetched)).catch((cause) => {
    throw Object.assign(new Error("a file did not come", { cause }), { why: "network" });
  });
  loading.catch(() => {}); // awaited below
  const { loadPyodide } = await import(url);
  py = await loadPyodide({ indexURL: folder, ...(own ? { stdLibURL: new URL(own.url, location.href).href } : {}) });
  const all = await loading;
  postMessage({ k: "progress", phase: "starting", loaded_bytes: order.files.total_bytes, total_bytes: order.files.total_bytes });
  py.FS.mkdirTree(APP);
  py.FS.mkdirTree(HOME);
  ours.forEach((pack, i) => unpack(pack, all[i]));
  py.runPython(`import sys; sys.path.insert(0, "${APP}")`);
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
  const executed = (share) => postMessage({ k: "progress", phase: "executing", loaded_bytes: share, total_bytes: 1 });
  let refusal = null;
  const refused = (status, error, hint) => void (refusal = { status, error, hint });
  const given = [order.slug, order.kind, order.name, order.seed ?? undefined, executed, await log, theFeed, refused, order.language, order.static];
  const made = await begun(HOME, say, toldClosed, ...given).catch((error) => {
    throw Object.assign(error, refusal && { why: "refused", refusal });
  });
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

const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

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

/** The rest of the feed, behind the part that came with the pages. Without it the feed begins again after that part. */
function theFeed() {
  return (feed ??= (async () => {
    const file = await fetch(order.files.feed);
    if (!file.ok) throw Object.assign(new Error(`${order.files.feed}: ${file.status}`), { why: "network" });
    const bytes = new Uint8Array(await file.arrayBuffer()), stream = py.FS.open(FEED, "a");
    py.FS.write(stream, bytes, 0, bytes.length);
    py.FS.close(stream);
  })().catch((error) => {
    console.warn(error);
    feed = undefined;
  }));
}

/** The pages' own modules, at the first request. */
function theSite() {
  return (site ??= (async () => {
    const make = await py.runPythonAsync(`
from queueviz.lite.site import Site

def make(lite, slug, root, static, home, name):
    site = Site(lite.port, slug, root=root, static=static, home=home, name=name)

    async def answer(method, path, body, language, theme, details, htmx):
        answered = await site.answer(method, path, body, language=language, theme=theme, details=details, htmx=htmx)
        return answered.status, dict(answered.headers), answered.body

    return answer

make`);
    return make(lite, order.slug, order.root, order.static, order.home, order.title);
  })());
}

async function answer({ id, method, path, body, headers, reader: { language, theme, details } }) {
  const ask = await theSite(), made = await ask(method, path, body ?? "", language, theme, details, headers["hx-request"] === "true");
  const [status, answered, text] = made.toJs({ dict_converter: Object.fromEntries });
  made.destroy();
  postMessage({ k: "answer", id, status, headers: answered, body: text });
}

async function take(message) {
  if (message.k === "request" && message.path === "actions/" && SENDS_FEED.test(message.body ?? "")) theFeed();
  if (message.k === "request") await answer(message);
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
      if (data.k === "request") postMessage({ k: "answer", id: data.id, status: 500, headers: {}, body: "" });
    });
};

export {};
