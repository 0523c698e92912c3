/* Runs a Python module of an archive with the interpreter of Lite:  node run.mjs LIBRARY WHEEL ARCHIVE FOLDER MODULE ARGUMENT …
   The contents of FOLDER are in /feeds. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadPyodide } from "pyodide";

const [library, wheel, archive, folder, module, ...rest] = process.argv.slice(2);
const bytes = (path) => new Uint8Array(readFileSync(path));
const python = await loadPyodide({ stdLibURL: library }); // the part that browsers get
python.unpackArchive(bytes(wheel), "wheel");
python.unpackArchive(bytes(archive), "zip", { extractDir: "/app" });
python.FS.mkdir("/feeds");
for (const name of readdirSync(folder)) python.FS.writeFile(`/feeds/${name}`, bytes(join(folder, name)));
python.globals.set("arguments", python.toPy([module, ...rest]));
python.setStdout({ batched: (line) => console.log(line) });
try {
  python.runPython(`
import runpy, sys
sys.path.insert(0, "/app")
sys.argv = list(arguments)
runpy.run_module(sys.argv[0], run_name="__main__")
`);
} catch (error) {
  console.error(String(error.message).slice(-3000));
  process.exit(1);
}
