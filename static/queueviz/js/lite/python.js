/* Python (Pyodide) of a worker, with the archives of the engine and of the pages. */
export const HOME = "/home/queueviz";
const APP = "/app", FEED = `${HOME}/feeds/flights-by-time.1.csv`;

/** Pyodide fetches its own files. Not every host knows the type of WASM, without which no browser compiles it. */
const plainly = fetch, WASM = "application/wasm";
globalThis.fetch = async (input, options) => {
  const file = await plainly(input, options);
  if (file.ok && file.url.endsWith(".gz")) return new Response(await unpacked(file));
  if (file.ok && file.url.endsWith(".wasm") && file.headers.get("content-type") !== WASM) return new Response(file.body, { headers: { "content-type": WASM } });
  return file;
};

/** Bytes of an archive, which an export has as .gz. Some hosts declare that as its encoding, and the browser has unpacked it. */
async function unpacked(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

/** A pack's bytes; it counts as it comes, in bytes of the transfer. */
async function fetched({ url, size_bytes, raw_bytes }, came, options = {}) {
  const file = await plainly(url, options);
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

/** A pack with the digest of this build: what a cache has kept of another build is fetched again, and refused after that. */
async function checked(pack, came) {
  const bytes = await fetched(pack, came);
  if (await isOf(bytes, pack)) return bytes;
  const again = await fetched(pack, () => {}, { cache: "reload" });
  if (await isOf(again, pack)) return again;
  throw Object.assign(new Error(`${pack.url}: another digest`), { why: "version" });
}

/** Browsers compute digests only with HTTPS or on this machine. */
const isOf = async (bytes, { sha256 }) => !crypto.subtle || hex(await crypto.subtle.digest("SHA-256", bytes)) === sha256;

export const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Pyodide fetches its own files, so that the browser compiles while it loads and keeps what it compiled: counted when they are there. */
function countOwn(folder, packs, total_bytes, came) {
  let left = total_bytes - packs.reduce((sum, pack) => sum + pack.size_bytes, 0);
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
function unpack(py, { url, use }, bytes) {
  if (use === "path") {
    const path = `${APP}/${url.split("/").at(-1).replace(/\.gz$/, "")}`;
    py.FS.writeFile(path, bytes);
    py.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(path)})`);
  } else py.unpackArchive(bytes, use === "wheel" ? "wheel" : "zip", use === "wheel" ? {} : { extractDir: "/" });
}

/** The rest of the feed of flights, behind the part that comes with the pages. */
export async function feed(py, url) {
  const file = await fetch(url);
  if (!file.ok) throw Object.assign(new Error(`${url}: ${file.status}`), { why: "network" });
  const bytes = new Uint8Array(await file.arrayBuffer()), stream = py.FS.open(FEED, "a");
  py.FS.write(stream, bytes, 0, bytes.length);
  py.FS.close(stream);
}

/**
 * Python, able to import the engine. An error has `why`: network or version.
 * @param {{ pyodide: string, packs: { url: string, use: string, size_bytes: number, raw_bytes: number, sha256: string }[], total_bytes: number }} files
 * @param {(loaded_bytes: number) => void} loading @param {() => void} starting after the last file
 */
export async function startPython({ pyodide, packs, total_bytes }, loading, starting) {
  let loaded_bytes = 0;
  const came = (bytes) => loading((loaded_bytes = Math.min(total_bytes, loaded_bytes + bytes)));
  const url = new URL(pyodide, location.href).href, folder = new URL("./", url).href;
  const ours = packs.filter(({ use }) => use !== "stdlib"), own = packs.find(({ use }) => use === "stdlib");
  countOwn(folder, ours, total_bytes, came);
  const coming = Promise.all(ours.map((pack) => checked(pack, came))).catch((cause) => {
    throw Object.assign(new Error("a file did not come", { cause }), { why: cause.why ?? "network" });
  });
  coming.catch(() => {}); // awaited below
  const { loadPyodide } = await import(url);
  const py = await loadPyodide({ indexURL: folder, ...(own ? { stdLibURL: new URL(own.url, location.href).href } : {}) });
  const all = await coming;
  starting();
  py.FS.mkdirTree(APP);
  py.FS.mkdirTree(HOME);
  ours.forEach((pack, i) => unpack(py, pack, all[i]));
  py.runPython(`import sys; sys.path.insert(0, "${APP}")`);
  return py;
}
