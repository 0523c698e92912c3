/* Small motions: dots on their way, a pin to its new place, a meter to its value. They take a step with each painted frame,
   and twenty a second without any: a step with each refresh of the screen costs more than all data of a page. */
import { calm } from "./dom.js";

export const STEP_MS = 50;
/** @type {Map<any, (now: number) => number>} */
const moving = new Map();
let timer = 0;

/**
 * Draw a motion of `it` instead of the one before.
 * @param {any} it
 * @param {(past_ms: number) => number} draw returns the milliseconds to the next step at the latest; 0 at the end
 */
export function move(it, draw) {
  const begun = performance.now();
  moving.set(it, (now) => draw(now - begun));
  draw(0);
  timer ||= setTimeout(requestAnimationFrame, STEP_MS, step);
}

export function step() {
  const now = performance.now();
  let wait = STEP_MS;
  for (const [it, draw] of moving) {
    const rest = draw(now);
    if (rest) wait = Math.min(wait, rest);
    else moving.delete(it);
  }
  clearTimeout(timer);
  timer = moving.size && setTimeout(requestAnimationFrame, wait, step);
}

/** An even motion: `draw` gets what is left of it, from 1 to 0. @param {any} it @param {number} ms @param {(left: number) => any} draw */
export const fade = (it, ms, draw) => move(it, (past_ms) => {
  const left = calm() ? 0 : Math.max(0, 1 - past_ms / ms);
  draw(left);
  return left && STEP_MS;
});

/** A motion that slows down. @param {any} it @param {number} ms @param {(left: number) => any} draw as of `fade` */
export const glide = (it, ms, draw) => fade(it, ms, (left) => draw(left ** 4));
