/* The page's side of the worker (js/lite/worker.js): requests with answers, sockets, and what the worker says of itself
   as events (`progress`, `ready`, `failed`). */
const MOST_REDIRECTS = 5;

export class LiteLink extends EventTarget {
  #count = 0;
  /** @type {Map<number, { done: (answer: any) => void, failed: (error: Error) => void }>} */
  #asked = new Map();
  /** @type {Map<number, { say: (text: string) => void, closed: (code: number) => void }>} */
  #sockets = new Map();

  /** @param {{ worker: string, root: string }} config @param {() => object} reader how pages are drawn: it may change */
  constructor({ worker, root }, reader) {
    super();
    this.root = root;
    this.reader = reader;
    this.worker = new Worker(worker, { type: "module" });
    this.worker.onmessage = ({ data }) => this.#take(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.#fail("engine");
    };
  }

  /** @param {Record<string, any>} order */
  start(order) {
    this.worker.postMessage({ k: "start", ...order });
  }

  end() {
    this.worker.terminate();
    this.#drop();
  }

  /** The answer, after redirects within the sandbox; `path` is where it is from, below the root. */
  async request(method, path, body = /** @type {string | null | undefined} */ (null), headers = {}) {
    for (let hops = 0; ; hops++) {
      const answer = await this.#ask({ method, path, body, headers });
      const to = [301, 302, 303, 307, 308].includes(answer.status) ? headerOf(answer, "location") : null;
      const url = to === null ? null : new URL(to, new URL(this.root + path, location.origin));
      if (!url || !url.href.startsWith(new URL(this.root, location.origin).href) || hops === MOST_REDIRECTS) return { ...answer, path, away: url?.href ?? null };
      if (answer.status < 307) [method, body] = ["GET", null];
      path = url.href.slice(new URL(this.root, location.origin).href.length);
    }
  }

  /** All files of the sandbox, for another worker; undefined: they are too large. @returns {Promise<Uint8Array | undefined>} */
  async files() {
    return (await this.#ask({ k: "files" })).bytes;
  }

  #ask(message) {
    const id = ++this.#count;
    return new Promise((done, failed) => {
      this.#asked.set(id, { done, failed });
      this.worker.postMessage({ k: "request", id, reader: this.reader(), ...message });
    });
  }

  /** @param {{ say: (text: string) => void, closed: (code: number) => void }} handlers */
  socket(handlers) {
    const n = ++this.#count;
    this.#sockets.set(n, handlers);
    this.worker.postMessage({ k: "open", n });
    return {
      hear: (text) => this.worker.postMessage({ k: "hear", n, text }),
      close: () => this.#sockets.delete(n) && this.worker.postMessage({ k: "close", n }),
    };
  }

  #take(message) {
    if (message.k === "say") this.#sockets.get(message.n)?.say(message.text);
    else if (message.k === "answer") {
      this.#asked.get(message.id)?.done(message);
      this.#asked.delete(message.id);
    } else if (message.k === "closed") {
      this.#sockets.get(message.n)?.closed(message.code);
      this.#sockets.delete(message.n);
    } else if (message.k === "failed") this.#fail(message.why, message.refusal);
    else this.dispatchEvent(new CustomEvent(message.k, { detail: message }));
  }

  #fail(why, refusal = null) {
    this.dispatchEvent(new CustomEvent("failed", { detail: { why, refusal } }));
    this.#drop();
  }

  #drop() {
    for (const { failed } of this.#asked.values()) failed(new Error("The worker has ended."));
    for (const { closed } of this.#sockets.values()) closed(1006);
    this.#asked.clear();
    this.#sockets.clear();
  }
}

/** @param {{ headers: Record<string, string> }} answer @param {string} name in small letters */
export function headerOf({ headers }, name) {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? null;
}
