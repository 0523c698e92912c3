/* Second worker of Lite: executes the run of the sandbox again, and makes its recording while the sandbox goes on. */
import { HOME, feed, startPython } from "./python.js";

async function made({ files, bytes, first, last }) {
  const py = await startPython(files, () => {}, () => {});
  const record = await py.runPythonAsync(`
from pathlib import Path
from queueviz import __version__
from sandbox.lite.entry import FEED
from sandbox.lite.recorder import record

async def made(home, files, first, last, feed, progress):
    files = files.to_bytes()
    if FEED in files:
        await feed()
    return record(Path(home), files, int(first), int(last), __version__, progress)

made`);
  const progress = (share) => postMessage({ k: "progress", share });
  const recording = await record(HOME, bytes, first, last, () => feed(py, files.feed), progress);
  return recording.toJs();
}

onmessage = ({ data }) => {
  made(data).then((recording) => postMessage({ k: "made", recording }, { transfer: [recording.buffer] }), (error) => {
    console.error(error);
    postMessage({ k: "failed" });
  });
};
