/* Stands in for the worker of Lite: it has the pages, the answers and the frames of a sandbox that runs on the server. */
const SLUG = "{slug}", FAILS = "{fails}", BRIDGE = "/static/queueviz/js/lite/bridge.js";
const PAGES = `/s/${SLUG}/`, API = `/api/sandboxes/${SLUG}`;
let root = "";

const ours = (text) => text.replaceAll(PAGES, root).replaceAll(API, `${root}api`);

async function answer({ method, path, body, headers }) {
  const address = path.startsWith("api/") ? `${API}/${path.slice(4)}` : PAGES + path;
  if (path === "broken/") return { status: 500, headers: {}, body: "" };
  if (path === "api/recipe") return FAILS === "long" ? { status: 422, headers: {}, body: '{"error": "Too long.", "hint": "Shorten it."}' } : { status: 200, headers: {}, body: '{"text": "abc"}' };
  const found = await fetch(address, { method, headers, body: body ?? undefined });
  const text = ours(await found.text());
  return { status: found.status, headers: Object.fromEntries(found.headers), body: text.replace("<head>", `<head><script src="${BRIDGE}"></script>`) };
}

/** The page opens them: a worker that a test has put in place may not. */
const sockets = new BroadcastChannel("sockets");
sockets.onmessage = ({ data }) => postMessage(data);

onmessage = async ({ data }) => {
  if (data.k === "start") {
    root = data.root;
    postMessage({ k: "progress", phase: "loading", loaded_bytes: 3.1e6, total_bytes: data.files.total_bytes });
    if (FAILS === "executing") postMessage({ k: "progress", phase: "executing", loaded_bytes: 0.256, total_bytes: 1 });
    if (FAILS === "never" || FAILS === "executing") return;
    if (Number(FAILS)) return postMessage({ k: "failed", why: "refused", refusal: { status: Number(FAILS), error: "It cannot begin.", hint: "Wait." } });
    postMessage(FAILS && FAILS !== "long" ? { k: "failed", why: FAILS } : { k: "ready" });
  } else if (data.k === "request") postMessage({ k: "answer", id: data.id, ...(await answer(data)) });
  else sockets.postMessage(data);
};
