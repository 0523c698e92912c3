/* The run of Lite as the text of a link, which anyone executes again: in a browser, or on the server. */
import { el } from "./dom.js";

/** The text of the recipe in the page's fragment, before the tab's path. */
export const textHere = () => location.hash.slice(1).split(":")[0];

/**
 * What the buttons of the bar do.
 * @param {{ recipes: { server: string, lite: string } }} config
 * @param {(path: string) => Promise<{ status: number, body: string }>} ask
 * @param {{ refused: (sentence: string) => void, copied: () => void }} says
 */
export function runDoes({ recipes }, ask, { refused, copied }) {
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
  };
}

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
