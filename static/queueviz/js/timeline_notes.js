/* The markers of an incident on the timeline: numbered, below the track, each with a stem to its event. */
import { svg } from "./dom.js";
import { number } from "./format.js";
import { xOf } from "./timeline_plan.js";

const NOTE_PX = 14; // a marker is so wide
const Y = 65, TOP = -61;

/** Rising places moved apart, so that each has room of its own within the width: none is drawn over another. */
export function spread(xs, apart, width) {
  const placed = xs.map((x) => Math.max(apart / 2, Math.min(width - apart / 2, x)));
  for (let one = 1; one < placed.length; one += 1) placed[one] = Math.max(placed[one], placed[one - 1] + apart);
  for (let one = placed.length - 1, most = width - apart / 2; one >= 0; one -= 1, most -= apart) placed[one] = Math.min(placed[one], most);
  return placed;
}

/** What a Timeline takes as its `notes`; null: there are none. */
export const notesOf = (/** @type {{ seq: number, text: string }[]} */ all) => (all.length ? { all, draw: (line) => draw(all, line) } : null);

function draw(notes, { first, last, width }) {
  const xs = notes.map(({ seq }) => xOf(seq, first, last, width)), places = spread(xs, NOTE_PX, width);
  return notes.map(({ seq, text }, place) => {
    const at = places[place], node = svg("g", { class: "note", transform: `translate(${at.toFixed(1)} ${Y})`, "data-seq": seq });
    node.append(svg("path", { d: `M${(xs[place] - at).toFixed(1)} -7V${TOP}` }), svg("circle", { r: 6.5 }), svg("text", { y: 3.5 }, place + 1), svg("title", {}, `#${number(seq)} ${text}`));
    return node;
  });
}
