/* Modules that are not part of a page's first view: loaded at their first use. If the server is offline then,
   that is no error of the page, and the next press tries again: Chromium keeps no load that failed. */

/**
 * @template T
 * @param {() => Promise<T>} load imports the module
 * @param {() => void} [failed] says to the reader that the server did not answer
 * @returns {Promise<T | null>} null where it did not
 */
export async function later(load, failed = () => {}) {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // of the module itself; a failed load is a TypeError in all browsers
    failed();
    return null;
  }
}

/**
 * A function that loads the module with its first call and begins with it once; a call after a failed load tries again.
 * @template T
 * @param {() => Promise<T>} load
 * @param {(module: T, ...values: any[]) => void} begin
 */
export function once(load, begin) {
  let begun = null;
  return (...values) => (begun ??= later(load).then((module) => (module ? begin(module, ...values) : (begun = null))));
}

/**
 * For what a page cannot do without: waits for the module; after a failed load the reader's next click tries again.
 * @template T
 * @param {() => Promise<T>} load
 * @param {() => void} failed
 * @returns {Promise<T>}
 */
export async function needed(load, failed) {
  for (;;) {
    const module = await later(load, failed);
    if (module) return module;
    await new Promise((done) => { document.addEventListener("click", done, { once: true }); });
  }
}
