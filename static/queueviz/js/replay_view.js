/* Replay on a view other than the Board: drawn by its own page from a moment that was executed again. The line leads to
   other events, each on its own page; forms are off, as they concern the present. */
import { go as leave } from "./address.js";
import { $, $$, around, attr, hide, text } from "./dom.js";
import { clock as clockText, duration, number } from "./format.js";
import { shortId } from "./names.js";
import { States } from "./replay_states.js";
import { Markers } from "./replay_markers.js";
import { notesOf } from "./timeline_notes.js";
import { Timeline } from "./timeline.js";
import { sentence, t } from "./words.js";

const SETTLED_MS = 400; // keys may step further before the page is left
const LINE_KEYS = [",", ".", "[", "]", "PageUp", "PageDown", "Home", "End"];
const SENT = "button, input, select, textarea";

export function startReplayView({ config, clock, keys }) {
  const { at, newest, newest_ms } = config.replay, last = Number(newest), states = new States(config.api);
  const who = (id) => config.names[id] ?? shortId(String(id));
  let leaving = 0;
  /** @type {number | null} */
  let cause = null;

  const line = new Timeline($("#r-line"), { facts: [], first: 0, last, who, onChange: (seq, { dragging }) => {
    clearTimeout(leaving);
    text($("#r-at"), t("replay.at", { seq: number(seq) }));
    if (!dragging && seq !== at) leaving = setTimeout(() => go(seq), SETTLED_MS);
  } });
  line.notes = notesOf(new Markers(go).notes);
  line.set(at);
  text($("#r-of"), at >= last ? t("replay.of_newest", { newest: number(last) }) : t("replay.of", { newest: number(last), age: duration(Math.max(0, newest_ms - clock.now())) }));
  text($("#r-clock"), clockText(clock.now()));
  text($("#r-seq"), t("time.event", { seq: number(at) }));

  function go(seq) {
    const address = new URL(location.href);
    address.searchParams.set("at", String(seq));
    leave(address);
  }

  async function describe() {
    const fact = await states.row(at);
    cause = fact?.cause ? Number(fact.cause) : null;
    attr($("#r-go"), "disabled", cause === null);
    text($("#r-said"), fact ? sentence(fact, who) : "");
    const why = cause === null ? null : await states.row(cause);
    text($("#r-cause"), why ? t("replay.cause", { seq: number(why.seq), said: sentence(why, who), n: number(at - Number(why.seq)) }) : t("replay.no_cause"));
  }

  const to_cause = () => cause !== null && go(cause);
  const buttons = { "#r-prev": () => line.key({ key: "," }), "#r-next": () => line.key({ key: "." }), "#r-go": to_cause };
  for (const [id, act] of Object.entries(buttons)) $(id).addEventListener("click", act);
  Object.assign(keys, Object.fromEntries(LINE_KEYS.map((key) => [key, () => line.key({ key })])), {
    c: to_cause, b: () => $("#r-branch button").click(), l: () => $("#r-live").click(),
  });
  for (const key of [" ", "Shift+Space"]) delete keys[key];

  // Whatever stays in this sandbox stays at this event.
  const stay = ({ target }) => {
    const link = around(target, "a[href]");
    if (!link) return;
    const to = new URL(link.href);
    if (link.id === "r-live" || to.origin !== location.origin || !to.pathname.startsWith(config.root) || to.searchParams.has("at")) return;
    to.searchParams.set("at", String(at));
    link.href = to.href;
  };
  for (const kind of ["pointerdown", "focusin", "click"]) document.addEventListener(kind, stay, true);

  const off = () => {
    for (const control of $$(`#main :is(form[hx-get], form[hx-post]) :is(${SENT}), #main [data-ask], #main [data-at], #main [data-key][type=button], #collide`)) {
      control.disabled = true;
      control.title = t("replay.off");
    }
  };
  off();
  new MutationObserver(off).observe($("#main"), { childList: true, subtree: true });

  describe().catch(() => text($("#r-said"), t("replay.failed")));
  states.facts(last, (found, first, end) => {
    line.facts = [];
    line.extend(found, last);
    line.set(at);
    hide($("#r-partly"), end);
    text($("#r-partly"), end ? "" : t("replay.partly", { seq: number(found[0]?.seq) }));
    if (end) line.first = first;
  }).catch(() => {});
}
