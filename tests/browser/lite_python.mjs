/* Stands in for Pyodide: records the calls, and answers each request with it. */
export async function loadPyodide({ indexURL, stdLibURL }) {
  const done = [`index ${new URL(indexURL).pathname}`, `library ${stdLibURL ? new URL(stdLibURL).pathname : "none"}`];
  const page = (asked) => `<!doctype html><title>${asked}</title><ul>${done.map((line) => `<li>${line}</li>`).join("")}</ul>`;
  const proxy = (value) => Object.assign(value, { toJs: () => value, destroy() {} });
  const lite = { open() {}, async hear() {}, close() {}, record: () => proxy([proxy(new Uint8Array()), false]) };
  const made = (values) => ({ toJs: () => values, destroy() {} });
  return {
    FS: { mkdirTree: (path) => done.push(`folder ${path}`), writeFile: (path, bytes) => done.push(`file ${path} ${new TextDecoder().decode(bytes)}`) },
    unpackArchive: (bytes, kind, { extractDir = "" }) => done.push(`${kind} ${bytes.length} ${extractDir}`),
    runPython() {},
    runPythonAsync: async (text) =>
      text.includes("sandbox.lite.entry")
        ? async (home, say, closed, slug, kind, name, seed, progress, log, feed, refused, language, url) => {
          done.push(`begun ${kind} ${name}`);
          if (kind !== "recipe") return proxy([lite, slug, 0]);
          refused(422, `${name} in ${language}`, url);
          throw new Error("refused");
        }
        : async () => async (method, path) => made([200, { "Content-Type": "text/html" }, page(`${method} ${path}`)]),
  };
}
