/* Reads a recording by HTTP range requests (docs/recording.md), as sandbox/recording/reader.py does. */

const HEAD_BYTES = 32 * 1024;
const PART_BYTES = 16 * 1024 * 1024; // unpacked
const VERSION = 1;
const KEPT_EVERY = 50; // frames
const KEPT_CHUNKS = 12;
const SLICE_MS = 6;
const GONE = Symbol("gone");

/** The fault: empty, cut, damaged, other, version, unreachable. */
export class BadRecording extends Error {}

/** Bytes `from` to `to` (excluded), and how long the file is. A server without ranges sends the whole file. */
async function overHttp(url, from, to) {
  const answer = await fetch(url, { headers: { Range: `bytes=${from}-${to - 1}` } }).catch(() => null);
  if (answer?.status === 416) throw new BadRecording(from ? "cut" : "empty");
  if (!answer?.ok) throw new BadRecording("unreachable");
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (answer.status === 200) return { bytes: bytes.subarray(from, to), total: bytes.length };
  return { bytes, total: Number(answer.headers.get("Content-Range")?.split("/")[1]) };
}

async function unpackPart(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const pieces = [];
  let size = 0;
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      size += piece.value.length;
      if (size > PART_BYTES) throw new BadRecording("damaged");
      pieces.push(piece.value);
    }
    return JSON.parse(await new Blob(pieces).text());
  } catch {
    throw new BadRecording("damaged");
  }
}

function sums(values) {
  let before = 0;
  return values.map((value) => (value === null ? null : (before += value)));
}

function unpackColumn([kind, values]) {
  if (kind === "v") return values;
  if (kind === "d") return sums(values);
  if (kind === "t") return sums(values).map((value) => (value === null ? null : String(value)));
  throw new BadRecording("damaged");
}

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const copied = (value) => (isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner)])) : value);

function put(tree, path, value) {
  if (path.includes("__proto__")) throw new BadRecording("damaged");
  for (const key of path.slice(0, -1)) {
    if (!Object.hasOwn(tree, key) || !isMap(tree[key])) tree[key] = {};
    tree = tree[key];
  }
  if (value === GONE) delete tree[path.at(-1)];
  else tree[path.at(-1)] = copied(value);
}

/** The last of rising numbers that is not above `value`; -1: none is. */
function lastUpTo(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function slices() {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < SLICE_MS) return;
    await new Promise((done) => setTimeout(done));
    began = performance.now();
  };
}

class Chunk {
  /** @type {any} */
  now = null; // the state of frame `reached`
  reached = -1;

  constructor(keyframe, { seq, at_ms }) {
    this.seqs = [keyframe.seq, ...sums(seq).map((one) => keyframe.seq + one)];
    this.times = [keyframe.at_ms, ...sums(at_ms).map((one) => keyframe.at_ms + one)];
    /** @type {any[][]} of each frame: paths and values */
    this.changes = this.seqs.map(() => []);
    this.kept = [copied(keyframe.state)]; // each KEPT_EVERY frames
  }

  static async of(keyframe, changes) {
    const chunk = new Chunk(keyframe, changes), rest = slices();
    for (const [path, numbers] of changes.gone) for (const number of sums(numbers)) chunk.changes[number].push([path, GONE]);
    for (const [path, numbers, kind, packed] of changes.columns) {
      const values = unpackColumn([kind, packed]);
      sums(numbers).forEach((number, at) => chunk.changes[number].push([path, values[at]]));
      await rest();
    }
    for (let number = KEPT_EVERY; number < chunk.seqs.length; number += KEPT_EVERY) {
      chunk.go(number);
      chunk.kept.push(copied(chunk.now));
      await rest();
    }
    return chunk;
  }

  at(seq) {
    return this.frame(Math.max(0, lastUpTo(this.seqs, seq)));
  }

  atTime(at_ms) {
    return this.frame(Math.max(0, lastUpTo(this.times, at_ms)));
  }

  frame(number) {
    this.go(number);
    return { seq: this.seqs[number], at_ms: this.times[number], state: copied(this.now) };
  }

  /** On from the frame asked for before, else from the nearest one kept. */
  go(number) {
    const near = Math.min(Math.floor(number / KEPT_EVERY), this.kept.length - 1), kept = near * KEPT_EVERY;
    if (this.reached < kept || this.reached > number) [this.reached, this.now] = [kept, copied(this.kept[near])];
    while (this.reached < number) for (const [path, value] of this.changes[++this.reached]) put(this.now, path, value);
  }
}

export class Recording {
  /** `read(from, to)` gives `{bytes, total}`; without it the address is read by ranges. */
  static async open(url, read = (from, to) => overHttp(url, from, to)) {
    const { bytes, total } = await read(0, HEAD_BYTES);
    if (!bytes.length) throw new BadRecording("empty");
    const end = bytes.indexOf(10);
    let line = null;
    try {
      line = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
    } catch { /* said below */ }
    if (end < 0 || line?.format !== "queueviz recording") throw new BadRecording("other");
    if (line.version !== VERSION) throw new BadRecording("version");
    const begins = end + 1 + line.directory_bytes;
    if (begins > bytes.length) throw new BadRecording("cut");
    const directory = await unpackPart(bytes.subarray(end + 1, begins));
    return new Recording(read, bytes, total, line, directory, begins);
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes the whole file */
  static of(bytes) {
    return Recording.open("", async (from, to) => ({ bytes: bytes.subarray(from, to), total: bytes.length }));
  }

  constructor(read, head, total, line, directory, begins) {
    this.about = line;
    this.read = read;
    this.head = head;
    this.seqs = sums(directory.seq);
    this.times = sums(directory.at_ms);
    this.chunks = new Map();
    this.alone = { of: -1, keyframe: null }; // without its chunk
    this.places = this.seqs.map((_, at) => {
      const keyframe = begins;
      const deltas = keyframe + directory.keyframe_bytes[at];
      const facts = deltas + directory.deltas_bytes[at];
      begins = facts + directory.facts_bytes[at];
      return { keyframe, deltas, facts, end: begins };
    });
    this.indexBegins = begins;
    if (begins + line.index_bytes !== total) throw new BadRecording("cut");
  }

  /** The first frame of an event's chunk: one small request. */
  async keyframe(seq) {
    const at = this.chunkOf(seq), { keyframe, deltas } = this.places[at];
    if (this.alone.of !== at) this.alone = { of: at, keyframe: await unpackPart(await this.bytes(keyframe, deltas)) };
    return copied(this.alone.keyframe);
  }

  /** The newest frame at or before event `seq`: `{seq, at_ms, state}`. */
  async at(seq) {
    return (await this.chunk(this.chunkOf(seq))).at(seq);
  }

  /** The newest frame at or before a moment; `last`: there is none after it. */
  async atTime(at_ms) {
    const at = Math.max(0, lastUpTo(this.times, at_ms)), chunk = await this.chunk(at), frame = chunk.atTime(at_ms);
    return { ...frame, last: at === this.times.length - 1 && frame.at_ms === chunk.times.at(-1) };
  }

  /** Facts with `first` <= seq <= `last`, in their order. */
  async facts(first, last) {
    const rows = [];
    for (let at = Math.max(0, lastUpTo(this.seqs, first)); at < this.seqs.length && this.seqs[at] <= last; at++) {
      const { facts, end } = this.places[at];
      for (const [type, fields] of await unpackPart(await this.bytes(facts, end))) {
        const columns = Object.entries(fields).map(([name, column]) => [name, unpackColumn(column)]);
        const count = columns[0][1].length;
        for (let row = 0; row < count; row++) rows.push({ type, ...Object.fromEntries(columns.map(([name, values]) => [name, values[row]])) });
      }
    }
    return rows.filter((row) => first <= Number(row.seq) && Number(row.seq) <= last).sort((a, b) => Number(a.seq) - Number(b.seq));
  }

  /** Number, time and type of every fact: `[{seq, at_ms, type}]`. */
  async index() {
    const { types, type, seq, at_ms } = await unpackPart(await this.bytes(this.indexBegins, this.indexBegins + this.about.index_bytes));
    const times = sums(at_ms);
    return sums(seq).map((one, at) => ({ seq: one, at_ms: times[at], type: types[type[at]] }));
  }

  chunkOf(seq) {
    const at = lastUpTo(this.seqs, seq);
    if (at < 0) throw new BadRecording("damaged");
    return at;
  }

  chunk(at) {
    let found = this.chunks.get(at);
    if (found) return found;
    found = this.load(at);
    if (this.chunks.size >= KEPT_CHUNKS) this.chunks.delete(this.chunks.keys().next().value);
    this.chunks.set(at, found);
    found.catch(() => this.chunks.delete(at));
    return found;
  }

  async load(at) {
    const { deltas, facts } = this.places[at], { of, keyframe } = this.alone;
    const begins = of === at ? deltas : this.places[at].keyframe, bytes = await this.bytes(begins, facts), length = deltas - begins;
    return Chunk.of(length ? await unpackPart(bytes.subarray(0, length)) : keyframe, await unpackPart(bytes.subarray(length)));
  }

  async bytes(from, to) {
    if (to <= this.head.length) return this.head.subarray(from, to);
    const { bytes } = await this.read(from, to);
    if (bytes.length !== to - from) throw new BadRecording("cut");
    return bytes;
  }
}
