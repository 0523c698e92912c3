/* Tabs of Lite. Each is a fresh frame, in whose document the worker's answer is written, so that its modules run anew.
   The page's address names the tab: its query is the tab's, its fragment the path below the root (and the tab's own).
   For a recipe the fragment begins with its text: `#text`, or `#text:path`. */
import { headerOf } from "./lite_link.js";
import { saveFile } from "./save_file.js";

const PAINT_MS = 3000; // then a tab is shown as it is

export class LiteTabs {
  #shown = /** @type {HTMLIFrameElement | null} */ (null);
  #newest = /** @type {HTMLIFrameElement | null} */ (null);
  #asked = 0;

  /** @param {{ box: HTMLElement, link: import("./lite_link.js").LiteLink, root: string, start: string, recipe: string, unanswered: () => void }} options `start`: the first page, below the root */
  constructor({ box, link, root, start, recipe, unanswered }) {
    this.box = box;
    this.link = link;
    this.root = root;
    this.start = start;
    this.recipe = recipe;
    this.unanswered = unanswered;
    this.#popped = () => this.#show(this.inner, { how: null });
    addEventListener("popstate", this.#popped);
  }

  #popped;

  end() {
    removeEventListener("popstate", this.#popped);
    this.box.replaceChildren();
    this.#shown = this.#newest = null;
    this.#asked++;
  }

  /** The address of the tab below the root, out of the page's. */
  get inner() {
    const [path, ...more] = this.#fragment.split("#"), base = new URL(this.root, location.origin);
    const url = new URL(path.replace(/^[/\\]+/, ""), base);
    if (!url.href.startsWith(base.href)) url.href = base.href;
    url.search = location.search;
    url.hash = more.join("#");
    return url;
  }

  get #fragment() {
    return location.hash.slice(1 + this.recipe.length).replace(this.recipe ? /^:/ : "", "");
  }

  /** The page's address for one of a tab. @param {string | URL} inner */
  outer(inner) {
    const { pathname, search, hash } = new URL(inner, location.origin), path = pathname.slice(this.root.length);
    const fragment = [this.recipe, `${path}${hash}`].filter(Boolean).join(":");
    return `${location.origin}${location.pathname}${search}${fragment && `#${fragment}`}`;
  }

  get isEmpty() {
    return this.#shown === null;
  }

  first() {
    if (this.#fragment || location.search) return this.#show(this.inner, { how: null });
    return this.#show(new URL(this.root + this.start, location.origin), { how: "replaceState" });
  }

  /** @param {string} address @param {{ method?: string, body?: string | null, name?: string }} [options] `name`: of a file to save */
  go(address, options = {}) {
    const url = new URL(address, location.origin), isSame = url.href === this.inner.href && !options.method;
    return this.#show(url, { ...options, how: isSame ? "replaceState" : "pushState" });
  }

  reload() {
    return this.#show(this.inner, { how: null });
  }

  /** A tab has changed its own address. Only the newest may: one that is being left no longer has it. */
  replaced(address, { isNew = false, by }) {
    if (by === this.#newest?.contentWindow) history[isNew ? "pushState" : "replaceState"](null, "", this.outer(address));
  }

  /** @param {URL} url @param {{ how: "pushState" | "replaceState" | null, method?: string, body?: string | null, name?: string }} options */
  async #show(url, { how, method = "GET", body, name = "" }) {
    const asked = ++this.#asked;
    this.box.setAttribute("aria-busy", "true");
    try {
      const headers = method === "GET" ? {} : { "content-type": "application/x-www-form-urlencoded" };
      const answer = await this.link.request(method, url.pathname.slice(this.root.length) + url.search, body, headers);
      if (asked !== this.#asked) return;
      if (answer.away) return location.assign(answer.away);
      if (answer.status === 204) return;
      const type = headerOf(answer, "content-type") ?? "", saved = headerOf(answer, "content-disposition") ?? "";
      if (name || saved.startsWith("attachment") || (type && !type.startsWith("text/html"))) return saveFile(answer.body, type, nameOf(name || url.pathname));
      if (!answer.body) return this.unanswered();
      const from = new URL(this.root + answer.path, location.origin);
      if (from.pathname === url.pathname) from.hash = url.hash;
      if (how) history[how](null, "", this.outer(from));
      await this.#paint(from, answer.body);
    } catch {
      // the link has said why
    } finally {
      if (asked === this.#asked) this.box.removeAttribute("aria-busy");
    }
  }

  async #paint(url, html) {
    const frame = document.createElement("iframe");
    if (this.#newest !== this.#shown) this.#newest?.remove();
    this.#newest = frame;
    frame.className = "next";
    this.box.append(frame);
    const inside = /** @type {Window} */ (frame.contentWindow);
    inside.document.open(); // forgets listeners
    const loaded = new Promise((done) => inside.addEventListener("load", done, { once: true }));
    inside.history.replaceState(null, "", url.href);
    inside.document.write(html);
    inside.document.close();
    this.#follow(inside.document);
    await Promise.race([loaded.then(() => painted(inside)), new Promise((done) => setTimeout(done, PAINT_MS))]);
    if (frame !== this.#newest) return;
    const mayFocus = document.activeElement === document.body || document.activeElement === this.#shown;
    this.#shown?.remove();
    this.#shown = frame;
    frame.className = "";
    frame.title = document.title = inside.document.title;
    if (mayFocus) inside.focus();
    this.box.dispatchEvent(new Event("shown"));
  }

  /** The theme is one for both. @param {Document} inner */
  #follow(inner) {
    const copy = () => (document.documentElement.dataset.theme = inner.documentElement.dataset.theme ?? "auto");
    new MutationObserver(copy).observe(inner.documentElement, { attributeFilter: ["data-theme"] });
  }
}

/** @param {Window} inside */
const painted = (inside) => new Promise((done) => inside.requestAnimationFrame(() => inside.requestAnimationFrame(done)));

/** @param {string} path */
const nameOf = (path) => path.split("/").findLast((part) => part) ?? "file";
