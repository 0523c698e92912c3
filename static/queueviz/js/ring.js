/* Rings: remaining time, clockwise from twelve, drawn from two timestamps without further messages. */
import { attr, text } from "./dom.js";
import { arc } from "./strip_plan.js";

/** @param {any} ring @param {{ share: number, label: string | undefined, inner?: number | null, renew?: number | null }} drawn */
export function drawRing(ring, { share, label, inner = null, renew = null }) {
  const size = ring.viewBox.baseVal.width, c = size / 2, r = c - (inner === null ? 3 : 4);
  ring._parts ??= { fg: ring.querySelector(".fg"), label: ring.querySelector("text"), inner: ring.querySelector(".inner"), renew: ring.querySelector(".renew") };
  const p = ring._parts;
  attr(p.fg, "d", share > 0 ? arc(c, c, r, Math.min(1, share)) : "");
  text(p.label, label);
  if (p.inner && inner !== null) attr(p.inner, "d", inner > 0 ? arc(c, c, r - 5, Math.min(1, inner)) : "");
  if (p.renew) {
    const a = (renew ?? 0) * 2 * Math.PI;
    attr(p.renew, "visibility", renew === null ? "hidden" : "visible");
    attr(p.renew, "cx", (c + r * Math.sin(a)).toFixed(1));
    attr(p.renew, "cy", (c - r * Math.cos(a)).toFixed(1));
  }
}

/**
 * A lock's ring: outer arc: the broker's lock timeout, inner arc: the client's, dot: the next renewal.
 * @param {any} ring
 * @param {any} lock
 * @param {{ now: number, lives: Record<string, number>, stale: boolean, letter?: string }} options
 * @returns {number | null} what is left of it, in milliseconds
 */
export function drawLock(ring, lock, { now, lives, stale, letter }) {
  if (!lock) {
    drawRing(ring, { share: 0, label: "", inner: ring.dataset.large === undefined ? null : 0 });
    return null;
  }
  const left = Math.min(lives.broker_ms, Math.max(0, lock.expires_at_ms - now)); // the page's clock may be a moment late
  const large = ring.dataset.large !== undefined;
  drawRing(ring, {
    share: left / lives.broker_ms,
    label: large && stale ? letter : String(Math.ceil(left / 1000)),
    inner: large ? Math.max(0, ((lock.trusted_until_ms ?? now) - now) / lives.client_ms) : null,
    renew: large && !stale && lock.renew_at_ms > now ? Math.max(0, left - (lock.renew_at_ms - now)) / lives.broker_ms : null,
  });
  return left;
}
