/* Writing only what changed. Each node remembers what it was last given; an equal value costs one comparison. */

const kept = new WeakMap();
const memory = (node) => kept.get(node) ?? kept.set(node, {}).get(node);

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

export function attr(node, name, value) {
  const own = memory(node);
  if (own[name] === value) return;
  own[name] = value;
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

export function text(node, value) {
  const own = memory(node);
  if (own["#"] === value) return;
  own["#"] = value;
  node.textContent = value;
}

export function cls(node, name, on) {
  const own = memory(node), key = `.${name}`;
  if (own[key] === on) return;
  own[key] = on;
  node.classList.toggle(name, on);
}

/** One class out of a family: the consumer's colour, the state of a lane. */
export function oneOf(node, family, name) {
  const own = memory(node), before = own[`|${family}`];
  if (before === name) return;
  if (before === undefined) for (const old of [...node.classList]) if (old.startsWith(family)) node.classList.remove(old);
  if (before) node.classList.remove(before);
  own[`|${family}`] = name;
  if (name) node.classList.add(name);
}

export function hide(node, hidden) {
  const own = memory(node);
  if (own.hidden === hidden) return;
  own.hidden = hidden;
  node.hidden = hidden;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, content) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (content !== undefined) node.textContent = content;
  return node;
}

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const key in attributes) if (attributes[key] !== null) node.setAttribute(key, attributes[key]);
  node.append(...children);
  return node;
}

/** `Silent **84 s**.` with the starred part in bold; never HTML. */
export function rich(node, line) {
  const own = memory(node);
  if (own["#"] === line) return;
  own["#"] = line;
  node.replaceChildren(...line.split("**").map((part, i) => (i % 2 ? el("b", {}, part) : part)));
}

export const json = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
