/* Where the document is. In Lite the page around it holds the address and answers for the server (js/lite/bridge.js). */

const KEPT_S = 365 * 24 * 3600;
const around = () => globalThis.queuevizLite ?? null;

export const reload = () => (around() ?? location).reload();

/** @param {string | URL} url */
export const go = (url) => (around()?.go ?? ((to) => location.assign(to)))(String(url));

/** The address to pass on. */
export const shown = () => around()?.outer(location.href) ?? location.href;

/** What the server draws the next page by, in a cookie; in Lite the page around keeps it. */
export const keep = (name, value) => (around()?.keep ?? cookie)(name, value);
const cookie = (name, value) => (document.cookie = `${name}=${value};path=/;max-age=${KEPT_S};samesite=lax`);

/** Of the socket; a live link has its own. */
export function socketUrl() {
  const path = around() ? `${around().root}live/` : `/ws${location.pathname.match(/^\/v\/[^/]+\//)?.[0] ?? "/live/"}`;
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
}
