/* The run of Lite for others: as the text of a link, which anyone executes again, in a browser or on the server; as a
   recording; as a page with the recording and its player. */
import { $, el } from "./dom.js";
import { saveFile } from "./save_file.js";

/** The text of the recipe in the page's fragment, before the tab's path. */
export const textHere = () => location.hash.slice(1).split(":")[0];

/**
 * What the buttons of the bar do.
 * @param {{ recipes: { server: string, lite: string }, title: string, name: string, files: { offline: Record<string, string> } }} config
 * @param {{ ask: (path: string) => Promise<{ status: number, body: string }>, recorded: () => Promise<{ bytes: Uint8Array<ArrayBuffer>, first: string, last: string }> }} run
 * @param {{ refused: (sentence: string) => void, copied: () => void }} says
 */
export function runDoes({ recipes, title, name, files }, { ask, recorded }, { refused, copied }) {
  async function made() {
    const { status, body } = await ask("api/recipe"), { text, error, hint } = JSON.parse(body);
    if (status !== 200) refused(`${error} ${hint}`);
    return status === 200 ? text : null;
  }
  return {
    /** The server shows what it will execute. The tab is opened at once: a browser lets only a click do that. */
    async copy() {
      const tab = open("", "_blank"), text = await made().catch(() => null);
      if (text === null) tab?.close();
      else (tab ?? window).location.assign(new URL(`${recipes.server}#${text}`, location.origin).href);
    },
    async link() {
      const text = await made().catch(() => null);
      if (text === null) return;
      await copy(new URL(`${recipes.lite}#${text}`, location.origin).href);
      copied();
    },
    async recording() {
      const { bytes, first, last } = await recorded();
      saveFile(bytes, "application/octet-stream", `queueviz-${first}-${last}.qvr`);
    },
    async offline() {
      const page = textOf(files.offline[document.documentElement.lang]), { bytes, first, last } = await recorded();
      saveFile(await filled(await page, title || name || "QueueViz", bytes), "text/html", `queueviz-${first}-${last}.html`);
    },
  };
}

const textOf = async (url) => (await fetch(url)).text();

/** The page of the player, with a title and its recording. @param {string} page @param {string} title @param {Uint8Array<ArrayBuffer>} bytes */
async function filled(page, title, bytes) {
  const whole = new DOMParser().parseFromString(page, "text/html");
  for (const node of [$("title", whole), $("h1", whole)]) node.textContent = title;
  $("#recording", whole).textContent = await base64(bytes);
  return `<!doctype html>\n${whole.documentElement.outerHTML}`;
}

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<string>} */
const base64 = (bytes) => new Promise((done) => {
  const reader = new FileReader();
  reader.onload = () => done(String(reader.result).split(",")[1]);
  reader.readAsDataURL(new Blob([bytes]));
});

async function copy(value) {
  try {
    await navigator.clipboard.writeText(value);
  } catch { // without HTTPS
    const field = el("textarea", { class: "vh", readonly: "" }, value);
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
