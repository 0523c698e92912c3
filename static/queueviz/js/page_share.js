/* The page that makes share links: the range on a timeline, notes as rows, the recording before it is shared, its download
   as one file, copying. */
import { $, $$, around, hide, json, text } from "./dom.js";
import { later } from "./later.js";
import { lookBack } from "./looking_back.js";
import { opened } from "./player_trouble.js";
import { saveFile } from "./save_file.js";
import { Notes } from "./share_notes.js";
import { RangeLine } from "./share_range.js";
import { t } from "./words.js";

const MOST_FACTS = 2_000; // on the line, the newest
const ASK_EVERY_MS = 1_000;
const ENDS = ["first", "last", "at"];

const { api, newest, offline } = json("sharing"), form = $("#share-form"), fields = form.elements, shown = $("#preview"), said = $("#preview-said");
const notes = new Notes($("#note-rows"), fields.notes, () => read().at);

const read = () => /** @type {{ first: number, last: number, at: number }} */ (Object.fromEntries(ENDS.map((name) => [name, Number(fields[name].value)])));
const isRange = ({ first, last, at }) => first < last && first <= at && at <= last;

/** What was shown is not what would be shared now. */
function outdate() {
  shown.replaceChildren();
  text(said, "");
}

async function drawLine() {
  const found = await lookBack(api, { show: "told", most: MOST_FACTS }), facts = found.rows.toReversed();
  const line = new RangeLine($("#range-line"), {
    facts, first: Number(found.first_seq), last: newest, range: read(),
    onChange(range) {
      for (const name of ENDS) fields[name].value = String(range[name]);
      outdate();
    },
  });
  form.addEventListener("input", ({ target }) => ENDS.includes(target.name) && isRange(read()) && line.set(read()));
}

/** Repeats the request until the recording is made; null if the server refuses it, which is shown. */
async function made(request) {
  for (;;) {
    const answer = await request();
    if (answer.status !== 202) {
      text(said, answer.ok ? "" : await reasonOf(answer));
      return answer.ok ? answer : null;
    }
    text(said, t("share.making", { n: Math.round((await answer.json()).progress * 100) }));
    await new Promise((done) => { setTimeout(done, ASK_EVERY_MS); });
  }
}

/** The sentence of a refusal: JSON of the API, or part of a page. */
async function reasonOf(answer) {
  if (answer.headers.get("Content-Type")?.includes("json")) return (await answer.json()).error;
  return $(".refusal span", new DOMParser().parseFromString(await answer.text(), "text/html"))?.textContent ?? t("share.failed");
}

/** The range as its readers would see it, made as its link would make it. */
async function preview() {
  const { first, last, at } = read(), url = `${api}/recording?${new URLSearchParams({ from: String(first), to: String(last) })}`;
  outdate();
  const box = $("#t-player").content.cloneNode(true).firstElementChild;
  if (!await made(() => fetch(url, { headers: { Range: "bytes=0-0" } }))) return;
  shown.replaceChildren(box);
  await opened(box, { url, from: first, to: last, at, notes: notes.notes }, () => later(() => import("./player.js")));
}

/** The range with its player as one HTML file. */
async function download() {
  const body = new FormData(form), { first, last } = read();
  const answer = await made(() => fetch(offline, { method: "POST", body, headers: { "HX-Request": "true" } }));
  if (!answer) return;
  saveFile(await answer.blob(), "text/html", `queueviz-${first}-${last}.html`);
  text(said, t("share.saved"));
}

for (const [id, begin] of Object.entries({ "#show": preview, "#offline": download })) {
  const button = $(id);
  button.addEventListener("click", async () => {
    button.disabled = true;
    await begin().catch(() => text(said, t("share.failed")));
    button.disabled = false;
  });
  hide(button, false);
}
form.addEventListener("input", outdate);
$("#part")?.addEventListener("change", ({ target }) => { $("#frame").value = json("frames")[target.value]; });

document.addEventListener("click", async ({ target }) => {
  const button = around(target, "[data-copy]");
  if (!button) return;
  const field = /** @type {HTMLInputElement} */ (document.getElementById(button.dataset.copy));
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    document.execCommand("copy");
  }
  for (const one of $$("[data-copied]")) text(one, t("share.copied"));
});

await drawLine().catch(() => {}); // numbers can be typed all the same
