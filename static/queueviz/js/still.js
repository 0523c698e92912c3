/* A board as a file of its own: one SVG with strips, owners and lag, without script, font or request; or one that moves,
   30 s at most and three times. Drawn by the plan of the strips. Pure: styles and texts are handed in. */
import { clock, number } from "./format.js";
import { colour, inOrder, shortNames } from "./names.js";
import { lagOf } from "./offsets.js";
import { windowFor } from "./scale.js";
import { LABELS, LAYERS, planStrip } from "./strip_plan.js";
import { pinnedAfterMs } from "./words.js";

const WIDTH = 800, ROW = 44, HEAD = 52, FACT = 16, FOOT = 12, LEFT = 104, RIGHT = 64;
export const MOST_MS = 30_000, MOST_BYTES = 100_000, LOOPS = 3;
const PACES_MS = [250, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500];

const escaped = (value) => String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * @param {{ seq: number, at_ms: number, board: any, fact?: string }} frame `board`: data of the board channel; `fact`: what happened
 * @param {{ title: string, event: string, desc: string, css: string, patterns: string, zone_min?: number }} o `event`: a
 *   text with `{seq}`; `css`: rules with every colour in them; `patterns`: the `pattern` elements they name
 */
export const still = (frame, o) => drawing([frame], [0], o);

/** As `still`, for frames of 30 s at most, in their order. Of many changes fewer are shown, until the file is small enough. */
export function moving(frames, o) {
  const first = frames[0].at_ms, lasts_ms = frames.at(-1).at_ms - first;
  if (lasts_ms > MOST_MS) throw new RangeError("too long");
  for (const pace_ms of PACES_MS) {
    const chosen = [frames[0]];
    for (const frame of frames.slice(1)) if (frame.at_ms - chosen.at(-1).at_ms >= pace_ms) chosen.push(frame);
    if (chosen.at(-1) !== frames.at(-1)) chosen.push(frames.at(-1));
    const found = drawing(chosen, chosen.map((frame) => frame.at_ms - first), o);
    if (new TextEncoder().encode(found).length <= MOST_BYTES) return found;
  }
  throw new RangeError("too many queues");
}

function drawing(frames, times_ms, o) {
  const keys = inOrder([...new Set(frames.flatMap(({ board }) => Object.keys(board.queues)))]), names = shortNames(keys);
  const window = windowFor(frames.flatMap(({ board }) => Object.values(board.queues).map((row) => lagOf(row) ?? 0)));
  const facts = frames.map((frame) => frame.fact ?? ""), head = HEAD + (facts.some(Boolean) ? FACT : 0);
  const height = head + keys.length * ROW + FOOT, run = timeline(times_ms);
  const rows = keys.map((key, at) => queue(frames.map((frame) => seen(frame, key, window)), names.get(key), head + at * ROW, run));
  const said = frames.map(({ seq, at_ms }) => `${clock(at_ms, o.zone_min)} · ${o.event.replace("{seq}", number(seq))}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="t d">`
    + `<title id="t">${escaped(o.title)}</title><desc id="d">${escaped(o.desc)}</desc><style>${o.css}</style><defs>${o.patterns}</defs>`
    + `<rect class="ground" width="${WIDTH}" height="${height}" rx="8"/><text class="title" x="16" y="30">${escaped(o.title)}</text>`
    + `${texts(said, `class="when" x="${WIDTH - 16}" y="30" text-anchor="end"`, run)}${head > HEAD ? texts(facts, 'class="fact" x="16" y="52"', run) : ""}${rows.join("")}</svg>`;
}

/** The values of a row in a frame; null: the queue does not exist. */
function seen({ at_ms, board }, key, window) {
  const row = board.queues[key];
  if (!row) return null;
  const member = row.owner ?? row.assigned ? board.members[row.owner ?? row.assigned] : null;
  const silent = Boolean(member) && member.state !== "running" && member.state !== "starting";
  const plan = planStrip(row, { width: WIDTH - LEFT - RIGHT, height: ROW, window, k: 1, compact: false, selected: false, now_ms: at_ms, pin_ms: pinnedAfterMs, silent, local: key.includes("@"), held: null });
  return { plan, member, lag: lagOf(row) };
}

function queue(frames, name, y, run) {
  const layers = LAYERS.map((layer) => path(layer, frames.map((frame) => frame?.plan.paths[layer] ?? ""), run));
  const labels = LABELS.map((label) => {
    const given = frames.map((frame) => frame?.plan.texts[label] ?? null);
    return run ? "" : given[0] ? `<text class="${label}" x="${given[0][0]}" y="${given[0][1]}" text-anchor="${given[0][2]}">${escaped(given[0][3])}</text>` : "";
  });
  const owners = texts(frames.map((frame) => frame?.member?.letter ?? "–"), `class="letter" x="27" y="${y + 27}" text-anchor="middle"`, run);
  const lags = texts(frames.map((frame) => number(frame?.lag)), `class="lag" x="${WIDTH - 16}" y="${y + 27}" text-anchor="end"`, run);
  const colours = classes(frames.map((frame) => colour(frame?.member)), run);
  return `<path class="line" d="M16 ${y}H${WIDTH - 16}"/><g ${colours.first}>${colours.then}<rect class="owner" x="16" y="${y + 11}" width="22" height="22" rx="5"/>${owners}`
    + `<text class="name" x="48" y="${y + 27}">${escaped(name)}</text><g class="s" transform="translate(${LEFT} ${y})">${layers.join("")}${labels.join("")}</g></g>${lags}`;
}

// Values over time. A timeline is null in a still; otherwise an element is given its values one after the other.

function timeline(times_ms) {
  if (times_ms.length < 2) return null;
  const last_ms = times_ms.at(-1) + 1000; // the last picture stays for a second
  return { shares: times_ms.map((time_ms) => String(Math.round((time_ms / last_ms) * 1e4) / 1e4)), last_ms };
}

/** One value per frame, as those at which it changes. */
function changes(values) {
  return values.map((value, at) => at).filter((at) => at === 0 || values[at] !== values[at - 1]);
}

function animate(name, at, values, run) {
  const given = at.map((one) => values[one]).join(";"), times = at.map((one) => run.shares[one]).join(";");
  const how = `dur="${run.last_ms}ms" calcMode="discrete" repeatCount="${LOOPS}" fill="freeze"`;
  return `<animate attributeName="${name}" values="${given}" keyTimes="${times}" ${how}/>`;
}

function path(layer, values, run) {
  if (values.every((value) => !value)) return "";
  const at = changes(values), first = `<path class="${layer}" d="${values[0] || "M0 0"}"`;
  return at.length < 2 || !run ? `${first}/>` : `${first}>${animate("d", at, values.map((value) => value || "M0 0"), run)}</path>`;
}

function classes(values, run) {
  const at = changes(values), first = `class="${values[0]}"`;
  return { first, then: at.length < 2 || !run ? "" : animate("class", at, values, run) };
}

/** A text for each value there is: a text cannot be given another one in time, only be shown and hidden. */
function texts(values, attributes, run) {
  if (!run || changes(values).length < 2) return `<text ${attributes}>${escaped(values[0])}</text>`;
  return [...new Set(values)].map((value) => {
    const shown = values.map((one) => (one === value ? "visible" : "hidden"));
    return `<text ${attributes} visibility="${shown[0]}">${escaped(value)}${animate("visibility", changes(shown), shown, run)}</text>`;
  }).join("");
}
