/* Stands in for the worker of Lite: it has the pages, the answers and the frames of a sandbox that runs on the server. */
const SLUG = "{slug}", FAILS = "{fails}", BRIDGE = "/static/queueviz/js/lite/bridge.js";
const PAGES = `/s/${SLUG}/`, API = `/api/sandboxes/${SLUG}`;
const sockets = new Map();
let root = "";

const ours = (text) => text.replaceAll(PAGES, root).replaceAll(API, `${root}api`);

async function answer({ method, path, body, headers }) {
  const address = path.startsWith("api/") ? `${API}/${path.slice(4)}` : PAGES + path;
  const found = await fetch(address, { method, headers, body: body ?? undefined });
  const text = ours(await found.text());
  return { status: found.status, headers: Object.fromEntries(found.headers), body: text.replace("<head>", `<head><script src="${BRIDGE}"></script>`) };
}

function open(n) {
  const socket = new WebSocket(`ws://${location.host}/ws/live/`, "queueviz.live.1"), waiting = [];
  sockets.set(n, { close: () => socket.close(), hear: (text) => (socket.readyState === 1 ? socket.send(text) : waiting.push(text)) });
  socket.onopen = () => waiting.forEach((text) => socket.send(text));
  socket.onmessage = ({ data }) => postMessage({ k: "say", n, text: data });
  socket.onclose = ({ code }) => postMessage({ k: "closed", n, code });
}

onmessage = async ({ data }) => {
  if (data.k === "start") {
    root = data.root;
    postMessage({ k: "progress", phase: "loading", loaded_bytes: 3.1e6, total_bytes: data.files.total_bytes });
    if (FAILS === "never") return;
    postMessage(FAILS ? { k: "failed", why: FAILS } : { k: "ready" });
  } else if (data.k === "request") postMessage({ k: "answer", id: data.id, ...(await answer(data)) });
  else if (data.k === "open") open(data.n);
  else if (data.k === "hear") sockets.get(data.n)?.hear(data.text);
  else if (data.k === "close") {
    sockets.get(data.n)?.close();
    sockets.delete(data.n);
  }
};
