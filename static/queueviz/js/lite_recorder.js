/* Recordings of the sandbox of this page. A second worker (js/lite/recorder.js) makes them; requests get the answers of the
   server's `/api/…/recording`: 202 with the progress, then ranges of the file. */
import { t } from "./words.js";

const UNASKED_MS = 60_000; // then the worker ends, as the server's process does
const HEARD_MS = 250;

/** @typedef {{ from: string, to: string, share: number, bytes: Uint8Array | null, done: Promise<Uint8Array>, stop: (why: string) => void, why: string }} Making */

export class LiteRecorder {
  /** @type {Making | null} */
  #making = null;
  #unasked = 0;

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
    const making = await this.#of(path);
    if ("status" in making) return making;
    clearTimeout(this.#unasked);
    if (making.bytes) return ranged(making.bytes, headers.range);
    if (making.why) {
      this.#making = null;
      return answer(409, { error: making.why, hint: "" });
    }
    this.#unasked = setTimeout(() => this.end(), UNASKED_MS);
    return answer(202, { progress: making.share, from: making.from, to: making.to });
  }

  /** The recording of all events. `heard` gets the share. Throws the sentence of a refusal. @param {(share: number) => void} heard */
  async whole(heard) {
    const making = await this.#of("api/recording");
    if ("status" in making) throw new Error(JSON.parse(making.body).error);
    clearTimeout(this.#unasked);
    const timer = setInterval(() => heard(making.share), HEARD_MS);
    try {
      return { bytes: await making.done, first: making.from, last: making.to };
    } finally {
      clearInterval(timer);
    }
  }

  end() {
    clearTimeout(this.#unasked);
    this.#making?.stop(t("lite.unmade"));
    this.#making = null;
  }

  /** The recording that a path asks for, begun if need be; or a refusal. */
  async #of(path) {
    const asked = new URLSearchParams(path.split("?")[1]);
    const making = this.#making;
    if (making?.from === asked.get("from") && making?.to === asked.get("to")) return /** @type {Making} */ (making);
    const allowed = await this.link.request("GET", path);
    if (allowed.status !== 200) return allowed;
    const { from, to } = JSON.parse(allowed.body);
    if (making?.from === from && making?.to === to) return /** @type {Making} */ (making);
    const files = await this.link.files();
    if (!files) return answer(409, { error: t("lite.too_large"), hint: "" });
    this.end();
    return (this.#making = this.#begun(from, to, files));
  }

  /** @returns {Making} */
  #begun(from, to, bytes) {
    const worker = new Worker(this.script, { type: "module" });
    const making = /** @type {Making} */ ({ from, to, share: 0, bytes: null, why: "" });
    making.done = new Promise((done, failed) => {
      making.stop = (why) => {
        worker.terminate();
        making.why = why;
        failed(new Error(why));
      };
      worker.onerror = () => making.stop(t("lite.unmade"));
      worker.onmessage = ({ data }) => {
        if (data.k === "progress") making.share = data.share;
        else if (data.k === "failed") making.stop(t("lite.unmade"));
        else {
          worker.terminate();
          done((making.bytes = data.recording));
        }
      };
    });
    making.done.catch(() => {}); // `why` has it
    worker.postMessage({ files: this.files, bytes, first: from, last: to }, [bytes.buffer]);
    return making;
  }
}

const answer = (status, body) => ({ status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** @param {Uint8Array} bytes @param {string | undefined} range `bytes=0-99` */
function ranged(bytes, range) {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  if (first === undefined) return { status: 200, headers: {}, body: bytes };
  const part = bytes.slice(Number(first), Number(last) + 1);
  if (!part.length) return { status: 416, headers: {}, body: "" };
  return { status: 206, headers: { "content-range": `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}` }, body: part };
}
