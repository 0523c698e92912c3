/* <qv-board template="orders">: a sandbox that runs in the reader's browser, inside an article. Also lab="…", incident="…" or
   recipe="…" (a reproducible link, or its part after #); height="600" in px. What the article writes inside stands there
   without scripts: a link to the page. An export of Lite has this file (docs/lite.md). No module: those need CORS. */
(() => {
  const site = new URL("../../../../", /** @type {HTMLScriptElement} */ (document.currentScript).src);
  const HEIGHT_PX = 720;
  const PATHS = {
    template: (name) => `lite/${name}/`,
    lab: (name) => `lite/lab/${name}/`,
    incident: (name) => `lite/incident/${name}/`,
    recipe: (text) => `lite/recipe/#${text.split("#").at(-1)}`,
  };

  class Board extends HTMLElement {
    connectedCallback() {
      if (this.querySelector("iframe")) return;
      if (document.readyState === "loading") return addEventListener("DOMContentLoaded", () => this.#show(), { once: true }); // its link is not there yet
      this.#show();
    }

    #show() {
      const [kind, path] = Object.entries(PATHS).find(([name]) => this.hasAttribute(name)) ?? [];
      if (!kind || !path) return;
      const isChinese = /** @type {HTMLElement | null} */ (this.closest("[lang]"))?.lang.toLowerCase().startsWith("zh");
      const frame = document.createElement("iframe");
      frame.src = new URL((isChinese ? "zh-hans/" : "") + path(this.getAttribute(kind) ?? ""), site).href;
      frame.title = this.getAttribute("title") ?? (this.textContent?.trim() || "QueueViz");
      frame.loading = "lazy";
      frame.allow = "clipboard-write";
      frame.style.cssText = "display: block; box-sizing: border-box; width: 100%; border: 1px solid #8886; border-radius: 8px";
      frame.style.height = `${Number(this.getAttribute("height")) || HEIGHT_PX}px`;
      this.style.display = "block";
      this.replaceChildren(frame);
    }
  }

  customElements.define("qv-board", Board);
})();
