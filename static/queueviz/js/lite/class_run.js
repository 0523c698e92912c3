/* The run of a course's lab in the worker: its socket, what the browser keeps of it, and the messages to the page. */
import { ClassSocket } from "./class_socket.js";
import { HOME } from "./python.js";

const PYTHON = `
import json
from sandbox.kernel.errors import SandboxError
from sandbox.lite.class_run import CLASS_VIEWER, ClassRun
from sandbox.lite.entry import Lite

def make(home, say, closed, slug, engine, instance, page, feed, log):
    run = None

    def of_any(number, text):
        if number >= CLASS_VIEWER:
            run.say_to_viewer(number, text)
        else:
            say(number, text)

    def shut(number, code):
        if number < CLASS_VIEWER:
            closed(number, code)

    lite = Lite(home, of_any, shut)
    run = ClassRun(lite, slug, engine=engine, instance=instance, page=page, feed=feed, kept=log.to_bytes())
    return lite, run

async def begin(run, progress, refused, language, static):
    try:
        await run.begin(progress)
    except SandboxError as error:
        from queueviz.lite.site import refusal
        refused(*refusal(error, language=language, static=static))
        raise

make, begin`;

/**
 * @param {any} py
 * @param {any} order the page's
 * @param {{ say: Function, closed: Function, feed: () => Promise<any>, log: Uint8Array, saved: import("./saved.js").Saved | null,
 *   executed: (share: number) => void, refused: Function }} parts
 * @returns {Promise<{ lite: any, run: any }>}
 */
export async function beginClass(py, order, { say, closed, feed, log, saved, executed, refused }) {
  const tell = (what) => postMessage({ k: "class", ...what });
  let socket = /** @type {ClassSocket | null} */ (null), counts = { length: 0, known: 0 }, isConnected = false;
  const show = () => tell({ what: "sent", ...counts, connected: isConnected });
  const page = {
    send: (text) => socket?.send(text),
    keep(record, anew) {
      const bytes = record.toJs();
      try {
        if (anew) saved?.begin(bytes);
        else saved?.append(bytes);
      } catch (error) {
        console.warn(error); // the storage is full: the server still gets it
      }
    },
    changed(length, known) {
      counts = { length, known };
      show();
    },
    course: (poll, open_until) => tell({ what: "course", poll, open_until: open_until ?? null }),
    held: (hold) => tell({ what: "held", hold: JSON.parse(hold) }),
    ended(reason) {
      socket?.end();
      postMessage({ k: "failed", why: `class.${reason}`, refusal: null });
    },
  };
  const [make, begin] = await py.runPythonAsync(PYTHON);
  const [lite, run] = make(HOME, say, closed, order.slug, order.files.digest, crypto.randomUUID(), page, feed, log);
  const url = new URL(order.course.socket, order.origin);
  url.protocol = url.protocol.replace("http", "ws");
  socket = new ClassSocket(url.href, {
    connected: () => run.connected(),
    disconnected() {
      isConnected = false;
      run.disconnected();
      show();
    },
    hear(text) {
      isConnected = true;
      run.hear(text).catch((error) => console.error(error));
    },
    refused: () => page.ended("removed"),
  });
  await begin(run, executed, refused, order.language, order.static);
  return { lite, run };
}
