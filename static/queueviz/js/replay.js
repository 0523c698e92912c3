/* Replay on the Board: the page as it was at an event of the address, moved by the line at its foot. The page receives nothing of
   the present here; actions are off. */
import { $, $$, attr, el, hide, text } from "./dom.js";
import { clock as clockText, duration, number } from "./format.js";
import { JournalList } from "./journal_list.js";
import { boardOf, greyOf } from "./replay_board.js";
import { queueRows } from "./queue_table.js";
import { changesOf, listed } from "./replay_changes.js";
import { ExactBoards, endOf } from "./replay_exact.js";
import { Refused, States, newestWins } from "./replay_states.js";
import { Markers } from "./replay_markers.js";
import { notesOf } from "./timeline_notes.js";
import { Timeline } from "./timeline.js";
import { sentence, t } from "./words.js";

const SETTLED_MS = 300; // while the line is dragged, the event is not read out
const AROUND = 4; // events listed on each side
const LINE_KEYS = [",", ".", "[", "]", "PageUp", "PageDown", "Home", "End"];
const PLAYED_MS = [120, 1000]; // between two facts

export function startReplay(page, { paint, rows, who }) {
  const { config, clock, keys } = page, { newest, newest_ms, state, most } = config.replay;
  const last = Number(newest), app = $(".app"), states = new States(config.api, state), twin = $("#twin");
  const queue = (key) => rows.shorts.get(key) ?? key;
  const board = (answer) => ({ ...boardOf(answer, config), grey: greyOf(answer, config.group) });
  const exact = new ExactBoards(config.api, config, { heard: (progress) => awaited(t("replay.making", { percent: Math.round(progress * 100) })), ready, failed: awaited });
  let of = "", is_exact = false, waits = ""; // what the values are of; why there is no exact board
  const list = new Around($("#r-journal"), { keep: 2 * AROUND + 1, who, queue });
  let at = Number(state.seq), seen = at, drawn = null, facts = [], cause = null, settled = 0, playing = 0;

  const line = new Timeline($("#r-line"), { facts, first: 0, last, onChange: (seq, { dragging }) => seek(seq, dragging), onPlay: () => play(), who });
  const markers = new Markers((seq) => seek(seq));
  line.notes = notesOf(markers.notes);

  /** The address and the line move at once, the board with the answer. */
  function seek(seq, dragging = false) {
    at = seq;
    line.set(seq);
    markers.show(seq);
    clearTimeout(settled);
    draw({ seq, dragging });
  }

  const draw = newestWins(async ({ seq, dragging }, overtaken) => {
    try {
      if (seq !== seen || !is_exact) shown((await exactly(seq)) ?? folded(await states.at(seq)));
      if (overtaken()) return;
      if (dragging) settled = setTimeout(() => draw({ seq, dragging: false }), SETTLED_MS);
      else {
        setTimeout(() => remember(seen)); // after the picture
        describe({ seq: seen, of: seq });
      }
    } catch (error) {
      line.set((at = seen));
      markers.show(at);
      text($("#r-said"), error instanceof Refused ? error.message : t("replay.failed"));
      text($("#r-cause"), "");
    }
  });

  /** The next board does not wait for what is said of this one, which takes some requests. */
  const describe = newestWins(async ({ seq, of: wanted }, overtaken) => {
    try {
      await showEvent(seq, () => overtaken() || at !== wanted);
    } catch {
      text($("#r-said"), t("replay.failed"));
      text($("#r-cause"), "");
    }
  });

  /** Out of the recording, once it is there: no question to the server. */
  async function exactly(seq) {
    const found = await exact.at(seq, facts.find((fact) => fact.seq === seq)?.at_ms);
    if (!found) return null;
    const said = found.seq === seq ? t("replay.exact") : found.seq > seq ? t("replay.end", { seq: number(found.seq) }) : t("replay.as_of", { seq: number(found.seq), n: number(seq - found.seq) });
    return { seq, at_ms: found.at_ms, board: { ...found.board, grey: [] }, said, is_exact: true };
  }

  function folded(answer) {
    const seq = Number(answer.seq);
    const said = answer.exact ? t("replay.exact") : t("replay.grey", { seq: number(answer.keyframe), n: number(seq - Number(answer.keyframe)) });
    return { seq, at_ms: answer.snapshot.at_ms, board: board(answer), said, is_exact: false };
  }

  function ready() {
    waits = "";
    seek(at);
  }

  function awaited(said) {
    waits = said;
    text($("#r-grey"), is_exact || !waits || seen > exact.last ? of : `${of}. ${waits}`);
  }

  /** The board, and the numbers beside it. */
  function shown(picture) {
    const { seq, at_ms } = picture;
    clock.hold();
    clock.hear(at_ms, 0);
    seen = seq;
    drawn = picture.board;
    paint(drawn, true);
    if (!twin.hidden) $("#r-queues").replaceChildren(...queueRows(drawn));
    attr(app, "data-grey", drawn.grey.join(" ") || null);
    [of, is_exact] = [picture.said, picture.is_exact];
    awaited(waits);
    text($("#r-at"), t("replay.at", { seq: number(seq) }));
    text($("#r-of"), seq >= last ? t("replay.of_newest", { newest: number(newest) }) : t("replay.of", { newest: number(newest), age: duration(Math.max(0, newest_ms - at_ms)) }));
    text($("#r-clock"), clockText(at_ms));
    text($("#r-seq"), t("time.event", { seq: number(seq) }));
    line.set(at);
    attr($("#finding"), "aria-busy", $("#finding").dataset.at === String(seq) ? null : "true");
    for (const button of $$(".cons footer button")) attr(button, "title", t("replay.off"));
  }

  /** The server writes the line of findings, as in the present. Until it comes, the old one is pale. */
  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.elt.id === "finding") detail.parameters.at = String(at);
  });

  /** What the event says, what lies around it, what changed. */
  async function showEvent(seq, overtaken) {
    if ($("#finding").dataset.at !== String(seq)) document.body.dispatchEvent(new CustomEvent("queueviz:findings"));
    const { rows: near } = await states.rows({ before: seq + AROUND + 1, most: 2 * AROUND + 1 });
    if (overtaken()) return;
    const fact = near.find((row) => Number(row.seq) === seq) ?? null;
    cause = fact?.cause ? Number(fact.cause) : null;
    text($("#r-said"), fact ? sentence(fact, who, queue) : "");
    text($("#r-around"), t("replay.around", { seq: number(seq) }));
    list.show(near, seq);
    attr($("#r-go"), "disabled", cause === null);
    const why = cause === null ? null : await states.row(cause);
    if (overtaken()) return;
    const from = why && { seq: number(why.seq), said: sentence(why, who, queue), n: number(seq - Number(cause)) };
    text($("#r-cause"), from ? t("replay.cause", from) : t("replay.no_cause"));
    await compare(seq, overtaken);
  }

  /** Of both what their events carry, exact to the event: a frame may be some events older. */
  async function compare(seq, overtaken) {
    const before = facts.findLast((fact) => fact.seq < seq)?.seq;
    text($("#r-since"), before === undefined ? t("replay.first") : t("replay.since", { seq: number(before) }));
    const then = before === undefined ? null : await states.at(before).catch(() => null);
    const now = then && (await states.at(seq).catch(() => null));
    if (overtaken()) return;
    const { rows: changed, said } = now ? listed(changesOf(board(then), board(now), who)) : { rows: [], said: "" };
    $("#r-changes tbody").replaceChildren(...changed);
    hide($("#r-changes"), !changed.length);
    text($("#r-none"), said);
  }

  function remember(seq) {
    const address = new URL(location.href);
    address.searchParams.set("at", String(seq));
    history.replaceState(null, "", address);
    for (const link of $$(".tabs a, .menu a, .gtabs a, #r-open")) {
      const to = new URL(link.href);
      to.searchParams.set("at", String(seq));
      link.href = to.href;
    }
    $("#r-branch").elements.at.value = String(seq);
  }

  function play(on = !playing) {
    clearTimeout(playing);
    playing = 0;
    attr($("#r-play"), "aria-label", t(on ? "replay.pause" : "replay.play"));
    attr($("#r-play"), "aria-pressed", String(on));
    const next = facts.find((fact) => fact.seq > at), now_ms = clock.now();
    if (!on) return;
    if (!next) return play(false);
    const wait = Math.min(PLAYED_MS[1], Math.max(PLAYED_MS[0], next.at_ms - now_ms));
    playing = setTimeout(() => {
      seek(next.seq);
      play(true);
    }, wait);
  }

  const to_cause = () => cause !== null && seek(cause);
  const buttons = { "#r-prev": () => line.key({ key: "," }), "#r-next": () => line.key({ key: "." }), "#r-play": () => play(), "#r-go": to_cause };
  for (const [id, act] of Object.entries(buttons)) $(id).addEventListener("click", () => act());
  Object.assign(keys, Object.fromEntries(LINE_KEYS.map((key) => [key, () => line.key({ key })])), {
    " ": () => play(), c: to_cause, b: () => $("#r-branch button").click(), l: () => $("#r-live").click(),
    Enter: ({ target }) => to_row(target.dataset?.queue),
  });
  delete keys["Shift+Space"];
  document.body.addEventListener("queueviz:asking", ({ target }) => $$('[data-keys=" "], [data-keys="."]', /** @type {Element} */ (target)).forEach((key) => key.remove())); // of the live view

  /** What changed the chosen queue last. */
  function to_row(key) {
    const found = drawn?.queues[key]?.cause;
    if (found) seek(Number(found));
  }

  twin.addEventListener("twin:open", () => $("#r-queues").replaceChildren(...queueRows(drawn)));

  $("#r-journal").addEventListener("click", (event) => {
    const link = event.target.closest("a[data-seq]");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    seek(Number(link.dataset.seq));
  });
  seek(at);
  let known = 0; // the first event with a state
  const laid = states.facts(last, (found, first, end) => {
    facts = found.filter(({ seq }) => seq >= known);
    line.facts = [];
    if (end) line.first = Math.max(first, known);
    line.extend(facts, last);
    hide($("#r-partly"), end);
    text($("#r-partly"), end ? "" : t("replay.partly", { seq: number(found[0]?.seq) }));
  });
  const parts = states.line().then(({ stretches, keyframe }) => {
    known = line.first = keyframe ?? 0;
    line.stretches = stretches;
    facts = facts.filter(({ seq }) => seq >= known);
    line.facts = [];
    line.extend(facts, last);
    exact.reach(config.group ? endOf(stretches, last, most) : -1, at);
  });
  for (const done of [laid, parts]) done.then(() => seek(at), () => {});
}

class Around extends JournalList {
  show(rows, seq) {
    this.seq = seq;
    this.rows = rows.toReversed();
    this.paint();
  }

  line(row) {
    const line = super.line(row), place = /** @type {Element} */ (line.firstChild);
    place.replaceChildren(el("a", { href: `?at=${row.seq}`, "data-seq": row.seq }, number(row.seq)));
    if (Number(row.seq) === this.seq) line.setAttribute("aria-current", "true");
    return line;
  }
}
