/* DOM writes of changed values only. Each node stores its last value; an equal value costs one comparison. */

/** @type {WeakMap<Node, Record<string, unknown>>} */
const kept = new WeakMap();
/** @param {Node} node @returns {Record<string, unknown>} */
const memory = (node) => {
  let own = kept.get(node);
  if (!own) kept.set(node, (own = {}));
  return own;
};

/**
 * What the page's template has there. Where a template may lack it, the caller asks `?.`.
 * @param {string} selector
 * @param {ParentNode} [root]
 * @returns {any}
 */
export const $ = (selector, root = document) => root.querySelector(selector);
/** @param {string} selector @param {ParentNode} [root] @returns {any[]} */
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/**
 * The nearest element, from what an event hit outwards, that fits.
 * @param {EventTarget | null} target
 * @param {string} selector
 * @returns {any}
 */
export const around = (target, selector) => (target instanceof Element ? target.closest(selector) : null);

/** A style is no attribute: a host's policy may forbid those. @param {any} node @param {string} name @param {any} value */
const written = (node, name, value) => (name === "style" ? (node.style.cssText = value) : node.setAttribute(name, value));

/** @param {Element} node @param {string} name @param {any} value null, undefined and false take the attribute away */
export function attr(node, name, value) {
  const own = memory(node);
  if (own[name] === value) return;
  own[name] = value;
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else written(node, name, value === true ? "" : value);
}

/** @param {Node} node @param {any} value */
export function text(node, value) {
  const own = memory(node);
  if (own["#"] === value) return;
  own["#"] = value;
  const only = node.firstChild;
  if (value && only instanceof Text && !only.nextSibling) only.data = value; // no node comes or goes: styles stay
  else node.textContent = value;
}

/** @param {Element} node @param {string} name @param {boolean} on */
export function cls(node, name, on) {
  const own = memory(node), key = `.${name}`;
  if (own[key] === on) return;
  own[key] = on;
  node.classList.toggle(name, on);
}

/**
 * One class out of a family: the consumer's colour, the state of a lane.
 * @param {Element} node
 * @param {string} family
 * @param {string | null} name
 */
export function oneOf(node, family, name) {
  const own = memory(node), before = /** @type {string | null | undefined} */ (own[`|${family}`]);
  if (before === name) return;
  if (before === undefined) for (const old of [...node.classList]) if (old.startsWith(family)) node.classList.remove(old);
  if (before) node.classList.remove(before);
  own[`|${family}`] = name;
  if (name) node.classList.add(name);
}

/** @param {HTMLElement} node @param {boolean} hidden */
export function hide(node, hidden) {
  const own = memory(node);
  if (own.hidden === hidden) return;
  own.hidden = hidden;
  node.hidden = hidden;
}

const SVG = "http://www.w3.org/2000/svg";
/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, any>} [attributes]
 * @param {any} [content]
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(name, attributes = {}, content) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (content !== undefined) node.textContent = content;
  return node;
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, any>} [attributes] one that is null is left out
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const key in attributes) if (attributes[key] !== null) written(node, key, attributes[key]);
  node.append(...children);
  return node;
}

/** `Silent **84 s**.` with the starred part in bold; never HTML. @param {Element} node @param {string} line */
export function rich(node, line) {
  const own = memory(node);
  if (own["#"] === line) return;
  own["#"] = line;
  node.replaceChildren(...line.split("**").map((part, i) => (i % 2 ? el("b", {}, part) : part)));
}

/** @param {string} id @returns {any} */
export const json = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
