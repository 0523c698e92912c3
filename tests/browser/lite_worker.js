/* Stands in for the worker of Lite: it has the pages, the answers and the frames of a sandbox that runs on the server. */
const SLUG = "{slug}", FAILS = "{fails}", BRIDGE = "/static/queueviz/js/lite/bridge.js";
const PAGES = `/s/${SLUG}/`, API = `/api/sandboxes/${SLUG}`;
let root = "";

const ours = (text) => text.replaceAll(PAGES, root).replaceAll(API, `${root}api`);

async function answer({ method, path, body, headers }) {
  const address = path.startsWith("api/") ? `${API}/${path.slice(4)}` : PAGES + path;
  if (path === "broken/") return { status: 500, headers: {}, body: "" };
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
    if (FAILS === "never") return;
    postMessage(FAILS ? { k: "failed", why: FAILS } : { k: "ready" });
  } else if (data.k === "request") postMessage({ k: "answer", id: data.id, ...(await answer(data)) });
  else sockets.postMessage(data);
};
