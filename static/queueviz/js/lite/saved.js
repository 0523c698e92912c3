/* The sandbox of a page in the browser's own storage (OPFS): a log of changes that grows, in one of two files. A log that
   begins anew is written to the other file first, so that a browser may end at any moment. */
const FOLDER = "queueviz-lite", TRIES = 20, WAIT_MS = 100; // a worker that was just ended still holds its files
const HEAD_BYTES = 8; // number of the log: the higher one counts

export class Saved {
  /** @param {any[]} files open for this worker alone */
  constructor(files) {
    this.files = files;
    this.number = 0;
    this.current = 0;
  }

  /** Open the storage of a sandbox. Throws "none" if the browser has no such storage here, "other" if another tab has it. @param {string} name */
  static async open(name) {
    if (!navigator.storage?.getDirectory) throw new Error("none");
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create: true });
    const files = [];
    for (const part of ["a", "b"]) files.push(await held(await folder.getFileHandle(`${name}.${part}`, { create: true })));
    return new Saved(files);
  }

  /** The log; empty if there is none. */
  read() {
    const numbers = this.files.map((file) => {
      const head = new DataView(new ArrayBuffer(HEAD_BYTES));
      return file.read(head, { at: 0 }) === HEAD_BYTES ? Number(head.getBigUint64(0)) : 0;
    });
    this.current = numbers[1] > numbers[0] ? 1 : 0;
    this.number = numbers[this.current];
    const file = this.files[this.current], log = new Uint8Array(this.number ? file.getSize() - HEAD_BYTES : 0);
    file.read(log, { at: HEAD_BYTES });
    return log;
  }

  /** Keep the first bytes of the log: the rest was cut short. @param {number} size_bytes */
  cut(size_bytes) {
    this.files[this.current].truncate(HEAD_BYTES + size_bytes);
  }

  /** @param {Uint8Array} record */
  append(record) {
    const file = this.files[this.current];
    file.write(record, { at: file.getSize() });
    file.flush();
  }

  /** Begin the log anew. @param {Uint8Array} record */
  begin(record) {
    const next = 1 - this.current, file = this.files[next], head = new DataView(new ArrayBuffer(HEAD_BYTES));
    file.truncate(0);
    file.write(record, { at: HEAD_BYTES });
    file.flush();
    head.setBigUint64(0, BigInt(++this.number)); // last: from now on this log counts
    file.write(head, { at: 0 });
    file.flush();
    this.files[this.current].truncate(0);
    this.current = next;
  }

  clear() {
    for (const file of this.files) file.truncate(0);
    [this.number, this.current] = [0, 0];
  }
}

async function held(file) {
  for (let tries = 0; ; tries++) {
    try {
      return await file.createSyncAccessHandle();
    } catch (thrown) {
      const error = /** @type {Error} */ (thrown);
      if (error.name !== "NoModificationAllowedError") throw new Error("none", { cause: error });
      if (tries === TRIES) throw new Error("other", { cause: error });
      await new Promise((done) => setTimeout(done, WAIT_MS));
    }
  }
}
