/* Recordings of the sandbox of this page. A second worker (js/lite/recorder.js) makes them, one after the other; requests get
   the answers of the server's `/api/…/recording`: 202 with the progress, then ranges of the file. */
import { t } from "./words.js";

const UNASKED_MS = 60_000; // then the worker ends, as the server's process does
const HEARD_MS = 250;
const KEPT = 4; // recordings

/** @typedef {{ from: string, to: string }} Range */

/** One recording that is being made. An error's message is for the reader. */
class Making {
  share = 0;
  /** @type {Worker | null} */
  #worker = null;
  /** @type {(why: Error) => void} */
  #fail = () => {};

  /** @param {Range} range @param {string} script @param {object} files of the build @param {Promise<Uint8Array | undefined>} kept files of the sandbox */
  constructor(range, script, files, kept) {
    this.key = keyOf(range);
    /** @type {Promise<Uint8Array>} */
    this.done = new Promise((done, failed) => {
      this.#fail = failed;
      kept.then((bytes) => {
        if (!bytes) return this.stop("lite.too_large");
        this.#worker = new Worker(script, { type: "module" });
        this.#worker.onerror = () => this.stop();
        this.#worker.onmessage = ({ data }) => {
          if (data.k === "progress") this.share = data.share;
          else if (data.k === "failed") this.stop();
          else done(data.recording);
        };
        this.#worker.postMessage({ files, bytes, first: range.from, last: range.to }, [bytes.buffer]);
      }).catch(() => this.stop());
    });
    this.done.catch(() => {}).finally(() => this.#worker?.terminate());
  }

  stop(why = "lite.unmade") {
    this.#fail(new Error(t(why)));
  }
}

export class LiteRecorder {
  /** @type {Map<string, Uint8Array>} */
  #made = new Map();
  /** @type {Map<string, string>} */
  #failed = new Map(); // why
  /** @type {Making | null} */
  #making = null;
  #unasked = 0;
  #downloads = 0;

  /** @param {{ recorder: string, files: object }} config @param {import("./lite_link.js").LiteLink} link */
  constructor({ recorder, files }, link) {
    this.script = recorder;
    this.files = files;
    this.link = link;
  }

  /** @param {string} method @param {string} path */
  static takes = (method, path) => method === "GET" && /^api\/recording(\?|$)/.test(path);

  /** The answer to a request of a tab. */
  async answer(path, headers) {
    const range = await this.#range(path);
    if ("status" in range) return range;
    const key = keyOf(range), bytes = this.#made.get(key), why = this.#failed.get(key);
    if (bytes) return ranged(bytes, headers.range);
    if (why) {
      this.#failed.delete(key);
      return answer(409, { error: why, hint: "" });
    }
    const making = this.#current(range);
    clearTimeout(this.#unasked);
    this.#unasked = setTimeout(() => this.#downloads || this.end(), UNASKED_MS);
    return answer(202, { progress: making.key === key ? making.share : 0, ...range });
  }

  /** The recording of all events. `heard` gets the share. Throws the sentence of a refusal. @param {(share: number) => void} heard */
  async whole(heard) {
    const range = await this.#range("api/recording");
    if ("status" in range) throw new Error(JSON.parse(range.body).error);
    const key = keyOf(range), timer = setInterval(() => heard(this.#making?.key === key ? this.#making.share : 0), HEARD_MS);
    this.#downloads++;
    try {
      while (!this.#made.has(key)) {
        const making = this.#current(range);
        await making.done.catch((error) => {
          if (making.key === key) throw error;
        });
      }
      return { bytes: /** @type {Uint8Array<ArrayBuffer>} */ (this.#made.get(key)), first: range.from, last: range.to };
    } finally {
      this.#downloads--;
      clearInterval(timer);
    }
  }

  end() {
    clearTimeout(this.#unasked);
    this.#making?.stop();
  }

  /** The events that a path asks for, or a refusal. */
  async #range(path) {
    const asked = new URLSearchParams(path.split("?")[1]), range = { from: asked.get("from") ?? "", to: asked.get("to") ?? "" };
    if (this.#making?.key === keyOf(range) || this.#made.has(keyOf(range))) return range;
    const allowed = await this.link.request("GET", path);
    return allowed.status === 200 ? /** @type {Range} */ (JSON.parse(allowed.body)) : allowed;
  }

  /** The recording that is being made: this one, unless another is not done yet. @param {Range} range */
  #current(range) {
    if (this.#making) return this.#making;
    const making = (this.#making = new Making(range, this.script, this.files, this.link.files()));
    making.done.then((bytes) => this.#keep(making.key, bytes), ({ message }) => this.#failed.set(making.key, message)).finally(() => (this.#making = null));
    return making;
  }

  #keep(key, bytes) {
    this.#made.set(key, bytes);
    if (this.#made.size > KEPT) this.#made.delete([...this.#made.keys()][0]);
  }
}

const keyOf = ({ from, to }) => `${from}-${to}`;
const answer = (status, body) => ({ status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** @param {Uint8Array} bytes @param {string | undefined} range `bytes=0-99` */
function ranged(bytes, range) {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  if (first === undefined) return { status: 200, headers: {}, body: bytes };
  const part = bytes.slice(Number(first), Number(last) + 1);
  if (!part.length) return { status: 416, headers: {}, body: "" };
  return { status: 206, headers: { "content-range": `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}` }, body: part };
}
