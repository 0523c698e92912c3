/* Makes the archives of Lite: compiles Python sources with the very interpreter that runs them in browsers.
   Standard input: {"packs": {name: {"python": [[path, name in the archive], …], "data": [[path, name], …]}}, "out": folder, "compress": [names],
   "quality": of Brotli, "cache": folder}.
   Each archive is stored, not deflated: the whole compresses better, as .br and .gz beside it. */
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

const order = JSON.parse(readFileSync(0, "utf8"));
const python = await loadPyodide({ env: { PYTHONNODEBUGRANGES: "1" } });
python.FS.mkdir("/pack");
python.runPython(`
import io, marshal, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc
from importlib.util import source_hash

AT = (2020, 1, 1, 0, 0, 0)

def compiled(source, name):
    code = compile(source, name, "exec", dont_inherit=True, optimize=2)
    return bytes(_code_to_hash_pyc(code, source_hash(source), False))

class Pack:
    def __init__(self):
        self.out = io.BytesIO()
        self.zip = zipfile.ZipFile(self.out, "w", zipfile.ZIP_STORED)

    def put(self, name, data):
        self.zip.writestr(zipfile.ZipInfo(name, AT), data)

    def python(self, name, source):
        self.put(name + "c", compiled(bytes(source), name))

    def data(self, name, content):
        self.put(name, bytes(content))

    def done(self):
        self.zip.close()
        return self.out.getvalue()
`);
const Pack = python.globals.get("Pack");
for (const [name, { python: sources = [], data = [] }] of Object.entries(order.packs)) {
  const pack = Pack();
  for (const [path, inside] of sources) pack.python(inside, new Uint8Array(readFileSync(path)));
  for (const [path, inside] of data) pack.data(inside, new Uint8Array(readFileSync(path)));
  const bytes = Buffer.from(pack.done().toJs());
  writeFileSync(join(order.out, name), bytes);
}
for (const name of order.compress) {
  const bytes = readFileSync(join(order.out, name));
  const params = { [constants.BROTLI_PARAM_QUALITY]: order.quality, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  const digest = createHash("sha256").update(bytes).digest("hex");
  cached(`${digest}.gz`, `${name}.gz`, () => gzipSync(bytes, { level: 9 }));
  cached(`${digest}.${order.quality}.br`, `${name}.br`, () => brotliCompressSync(bytes, { params }));
}

/* Python itself seldom changes, and takes a minute to compress. */
function cached(known, name, compress) {
  const path = join(order.cache, known);
  if (!existsSync(path)) writeFileSync(path, compress());
  copyFileSync(path, join(order.out, name));
}
