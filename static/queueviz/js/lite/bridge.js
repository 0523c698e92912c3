/* First script of a page of Lite, before its modules. In this window, requests and sockets below the sandbox's root go
   to the worker through the page around (js/lite_tabs.js); links and forms change the tab. Everything else is real. */
(() => {
  const lite = window.parent === window ? null : /** @type {any} */ (window.parent).queuevizLite;
  if (!lite) return;
  const NO_BODY = [204, 205, 304];

  /** An address of the page. Where Firefox resolves it itself, it does so at the page around. */
  const at = (address) => new URL(address, location.href);

  /** The address if it is below the root, else null. @returns {URL | null} */
  const below = (address) => {
    const url = at(address);
    if (url.protocol === "ws:" || url.protocol === "wss:") url.protocol = location.protocol;
    return url.origin === location.origin && url.pathname.startsWith(lite.root) ? url : null;
  };
  const pathOf = (url) => url.pathname.slice(lite.root.length) + url.search;
  const formText = (data) => new URLSearchParams([...data].filter(([, value]) => typeof value === "string")).toString();

  /** By this event a page knows that a link was just followed, and does not open itself anew. */
  const go = (address, options) => {
    const url = below(address);
    if (!url) return window.parent.location.assign(at(address).href);
    window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
    lite.go(url.href, options);
  };
  window.queuevizLite = { root: lite.root, go: (address) => go(address), reload: () => lite.reload(), outer: (address) => lite.outer(address), keep: (name, value) => lite.keep(name, value) };

  /** An answer that sends the page elsewhere does so to the tab, not to this window. True if it did. */
  const isSent = (headers) => {
    if (headers.get("hx-redirect")) go(headers.get("hx-redirect"));
    else if (headers.get("hx-refresh") === "true") lite.reload();
    else return false;
    return true;
  };
  const headersOf = (answer) => new Map(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)]));

  window.XMLHttpRequest = class extends XMLHttpRequest {
    #url = /** @type {URL | null} */ (null);
    #method = "GET";
    #sent = {};
    #asked = 0;
    #state = 0;
    #answer = /** @type {any} */ (null);
    #heard = /** @type {Map<string, string>} */ (new Map());

    open(method, address, ...more) {
      this.#url = below(address);
      if (!this.#url) return super.open(method, address, .../** @type {[boolean]} */ (more));
      [this.#method, this.#sent, this.#answer, this.#state] = [method.toUpperCase(), {}, null, 1];
      this.dispatchEvent(new Event("readystatechange"));
    }

    setRequestHeader(name, value) {
      if (this.#url) this.#sent[name.toLowerCase()] = value;
      else super.setRequestHeader(name, value);
    }

    overrideMimeType(type) {
      if (!this.#url) super.overrideMimeType(type);
    }

    /** @param {any} [body] */
    send(body = null) {
      if (!this.#url) return super.send(body);
      const asked = ++this.#asked, text = body instanceof FormData ? formText(body) : body === null ? null : String(body);
      if (body instanceof FormData) this.#sent["content-type"] = "application/x-www-form-urlencoded";
      this.#fire("loadstart");
      lite.request(this.#method, pathOf(this.#url), text, this.#sent).then(
        (answer) => asked === this.#asked && this.#take(answer),
        () => asked === this.#asked && this.#end("error"),
      );
    }

    abort() {
      if (!this.#url) return super.abort();
      this.#asked++;
      if (this.#state === 1) this.#end("abort");
      this.#state = 0;
    }

    #take(answer) {
      this.#answer = answer;
      this.#heard = headersOf(answer);
      if (isSent(this.#heard)) for (const name of ["hx-redirect", "hx-refresh"]) this.#heard.delete(name);
      this.#end("load");
    }

    #end(kind) {
      this.#state = 4;
      this.dispatchEvent(new Event("readystatechange"));
      this.#fire(kind);
      this.#fire("loadend");
    }

    #fire(kind) {
      this.dispatchEvent(new ProgressEvent(kind));
    }

    getResponseHeader(name) {
      return this.#url ? (this.#heard.get(name.toLowerCase()) ?? null) : super.getResponseHeader(name);
    }

    getAllResponseHeaders() {
      return this.#url ? [...this.#heard].map(([name, value]) => `${name}: ${value}\r\n`).join("") : super.getAllResponseHeaders();
    }

    get readyState() {
      return this.#url ? this.#state : super.readyState;
    }

    get status() {
      return this.#url ? (this.#answer?.status ?? 0) : super.status;
    }

    get statusText() {
      return this.#url ? "" : super.statusText;
    }

    get responseURL() {
      return this.#url ? (this.#answer ? new URL(lite.root + this.#answer.path, location.origin).href : "") : super.responseURL;
    }

    get responseText() {
      return this.#url ? String(this.#answer?.body ?? "") : super.responseText;
    }

    get response() {
      return this.#url ? this.responseText : super.response;
    }
  };

  const fetched = window.fetch.bind(window);
  window.fetch = (input, options = {}) => {
    const url = below(input instanceof Request ? input.url : input);
    if (!url) return fetched(input, options);
    const body = options.body instanceof FormData ? new URLSearchParams(formText(options.body)) : options.body;
    const request = new Request(input instanceof Request ? input : url, { ...options, body });
    return new Promise((resolve, reject) => {
      const stop = () => reject(request.signal.reason);
      if (request.signal.aborted) return stop();
      request.signal.addEventListener("abort", stop);
      request.text().then((text) => lite.request(request.method, pathOf(url), text || null, Object.fromEntries(request.headers)))
        .then((answer) => resolve(new Response(NO_BODY.includes(answer.status) ? null : answer.body, { status: answer.status, headers: [...headersOf(answer)] })))
        .catch(() => reject(new TypeError("The worker did not answer.")));
    });
  };

  class Socket extends EventTarget {
    readyState = 0;
    bufferedAmount = 0;
    onopen = null;
    onmessage = null;
    onclose = null;
    onerror = null;
    #link;

    constructor(url, protocol = "") {
      super();
      this.url = String(url);
      this.protocol = [protocol].flat()[0] ?? "";
      this.#link = lite.socket({ say: (data) => this.#fire("message", { data }), closed: (code) => this.#end(code) });
      addEventListener("pagehide", () => this.close());
      setTimeout(() => {
        if (this.readyState !== 0) return;
        this.readyState = 1;
        this.#fire("open");
      });
    }

    send(text) {
      if (this.readyState === 1) this.#link.hear(text);
    }

    close(code = 1000) {
      if (this.readyState === 3) return;
      this.#link.close();
      this.#end(code);
    }

    #end(code) {
      if (this.readyState === 3) return;
      this.readyState = 3;
      setTimeout(() => this.#fire("close", { code }));
    }

    #fire(kind, values = {}) {
      const event = Object.assign(new Event(kind), values);
      this[`on${kind}`]?.(event);
      this.dispatchEvent(event);
    }
  }
  window.WebSocket = new Proxy(WebSocket, {
    construct: (Real, [url, ...protocols]) => (below(url) ? new Socket(url, ...protocols) : new Real(url, ...protocols)),
  });

  // The host's policy may forbid attributes `style`: pages have them as `data-css`. A morph takes a `style` away that the new page does not have.
  /** @param {any} node */
  const styled = (node) => (node.style.cssText = node.dataset.css);
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes, attributeName } of changes) {
      if (target instanceof Element && type === "attributes") {
        if (target.hasAttribute("data-css") && (attributeName === "data-css" || !target.hasAttribute("style"))) styled(target);
      } else
        for (const node of addedNodes) {
          if (!(node instanceof Element)) continue;
          if (node.matches("[data-css]")) styled(node);
          node.querySelectorAll("[data-css]").forEach(styled);
        }
    }
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["style", "data-css"] });

  // The page around has the history of the tab.
  const replace = history.replaceState.bind(history);
  const changed = (isNew) => (state, unused, url) => {
    replace(state, unused, url);
    lite.replaced(location.href, { isNew, by: window });
  };
  history.replaceState = changed(false);
  history.pushState = changed(true);

  const hrefOf = (link) => link.getAttribute("href");
  window.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || !/^https?:$/.test(link.protocol)) return;
    const url = below(hrefOf(link));
    if (!url) {
      link.href = at(hrefOf(link)).href;
      if (!link.target) link.target = "_parent";
      return;
    }
    event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.shiftKey || link.target === "_blank") window.open(lite.outer(url.href), "_blank", "noopener");
    else if (url.hash && url.href.split("#")[0] === location.href.split("#")[0]) location.replace(url.href);
    else go(url.href, { name: link.download });
  });
  window.addEventListener("auxclick", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.button !== 1 || event.defaultPrevented || !below(hrefOf(link))) return;
    event.preventDefault();
    window.open(lite.outer(at(hrefOf(link)).href), "_blank", "noopener");
  });

  window.addEventListener("submit", (event) => {
    const form = event.target, by = event.submitter;
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return;
    const method = (by?.getAttribute("formmethod") ?? form.getAttribute("method") ?? "get").toLowerCase();
    if (method === "dialog") return;
    const url = below(by?.getAttribute("formaction") ?? form.getAttribute("action") ?? location.href), next = form.elements.namedItem("next");
    if (!url) {
      if (!form.target) form.target = "_parent";
      if (next instanceof HTMLInputElement && below(next.value)) next.value = lite.outer(below(next.value)?.href);
      return;
    }
    event.preventDefault();
    const text = formText(new FormData(form, by));
    if (method === "get") {
      url.search = text;
      go(url.href);
    } else go(url.href, { method: "POST", body: text });
  });
})();
