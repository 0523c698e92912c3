/* Index: the walk is computed by the server in one answer; here it is played, 400 ms a station, or stepped by arrow keys. */
import { post } from "./ask.js";
import { say } from "./announce.js";
import { $, $$, around, attr, calm, cls, el } from "./dom.js";
import { clock as clockText, number } from "./format.js";
import { show, startShell } from "./shell.js";
import { t } from "./words.js";

const STATION_MS = 400, NEWEST = 12;
// String.hashCode of Java gives both the same number
const COLLIDING = ["Aa", "BB"];

const page = startShell({ keys: { ArrowRight: () => walk.step(1), ArrowLeft: () => walk.step(-1) } });
const { config, clock } = page;
const form = $("#walk-form");

class Walk {
  at = 0;
  #timer = 0;

  get stations() {
    return $$("#walk .stations:not(.resting) > .station:not(.skipped)");
  }

  play() {
    clearInterval(this.#timer);
    const stations = this.stations;
    if (calm() || !stations.length) return;
    cls($("#walk .stations"), "playing", true);
    this.show(0);
    this.#timer = setInterval(() => {
      if (this.at >= stations.length - 1) return this.#finish();
      this.show(this.at + 1);
    }, STATION_MS);
  }

  #finish() {
    clearInterval(this.#timer);
    cls($("#walk .stations"), "playing", false);
    for (const station of this.stations) cls(station, "now", false);
  }

  show(at) {
    const stations = this.stations;
    this.at = Math.max(0, Math.min(stations.length - 1, at));
    stations.forEach((station, i) => {
      cls(station, "on", i <= this.at);
      cls(station, "now", i === this.at);
    });
  }

  step(by) {
    if (!this.stations.length) return;
    clearInterval(this.#timer);
    cls($("#walk .stations"), "playing", true);
    this.show(this.at + by);
    say(t("walk.step", { n: this.at + 1, m: this.stations.length }));
    this.stations[this.at].scrollIntoView({ block: "nearest" });
  }
}
const walk = new Walk();

document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.id !== "walk") return;
  walk.at = 0;
  walk.play();
  const end = $(".walkend b");
  if (end) say(end.textContent);
});
document.body.addEventListener("click", ({ target }) => around(target, "[data-replay]") && walk.play());
form.addEventListener("change", () => {
  const span = form.elements["ui-window"].value;
  form.elements.from_ms.value = span ? String(Math.round(clock.now() - Number(span))) : "";
});
document.body.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.elt === form && !detail.parameters.from_ms) delete detail.parameters.from_ms;
});

const collide = $("#collide");
let awaited = null; // the key and the hash of two messages on their way

/** The numbers of RocketMQ: Java's `hashCode` of topic#key, without its sign. */
const hashOf = (topic, key) => Math.abs([...`${topic}#${key}`].reduce((hash, char) => (Math.imul(31, hash) + char.charCodeAt(0)) | 0, 0));

collide?.addEventListener("click", async () => {
  const topic = form.elements.topic, stem = `order-${Math.floor(clock.now() / 1000) % 10000}-`;
  const rows = COLLIDING.map((end) => ({ key: stem + end, tag: "collide", body: "two keys, one hash" }));
  const queue = topic.selectedOptions[0].dataset.queue; // of the broker whose index is shown: on two brokers nothing collides
  const sent = new AbortController();
  collide.addEventListener("queueviz:acted", () => (awaited = { key: stem + COLLIDING[0], hash: hashOf(topic.value, stem + COLLIDING[0]) }), sent);
  await post(`${config.root}actions/`, { action: "SendMessages", topic: topic.value, ...(queue && { queue }), rows: JSON.stringify(rows) }, collide);
  sent.abort(); // a refusal stands beside the button, and nothing is walked
});

/** Wait until both are in the index; while the clock is stopped, that is later. */
function walkCollision(entries) {
  if (!awaited || entries.filter(([, entry]) => entry.hash === awaited.hash).length < COLLIDING.length) return;
  form.elements.key.value = awaited.key;
  awaited = null;
  form.requestSubmit();
}

const keys = $("#newest-keys");
keys?.addEventListener("click", ({ target }) => {
  if (!target.dataset.key) return;
  form.elements.topic.value = target.dataset.topic;
  form.elements.key.value = target.dataset.key;
  form.requestSubmit();
});

/** Keep the options in place while the user chooses one. */
function offer(newest) {
  const row = newest.map(({ topic, key }) => `${topic}#${key}`).join(" ");
  if (!newest.length || keys.dataset.row === row || keys.matches(":hover, :focus-within")) return;
  keys.dataset.row = row;
  keys.replaceChildren(...newest.map(({ topic, key }) => el("button", { class: "btn sm num", type: "button", "data-key": key, "data-topic": topic, title: topic }, key)));
  $("#known-keys").replaceChildren(...newest.map(({ key }) => el("option", { value: key })));
}

if (config.channels.index) show(page, config.channels.index, paint);

function paint(data) {
  offer(data.keys ?? []);
  const files = Object.entries(data.files ?? {}).sort();
  if (files.length)
    $("#shelf").replaceChildren(...files.map(([name, f]) => {
      const bar = el("i", {});
      attr(bar, "style", `transform:scaleX(${Math.min(1, f.count / f.entries).toFixed(3)})`);
      const span = `${clockText(f.begin_ms, 0, { millis: false })} – ${clockText(f.end_ms, 0, { millis: false })}`;
      return el("li", {}, el("b", { class: "num" }, name), el("span", { class: "num muted" }, span), el("span", { class: "fill" }, bar), el("span", { class: "num" }, `${number(f.count)} / ${number(f.entries)}`));
    }));
  const entries = Object.entries(data.entries ?? {}).sort(([a], [b]) => (Number(b.split(":").at(-1)) - Number(a.split(":").at(-1))));
  walkCollision(entries);
  $("#entries tbody").replaceChildren(...entries.slice(0, NEWEST).map(([key, e]) => el("tr", {}, ...[key.split(":").at(-1), e.hash, e.physical, e.time_diff_s, e.slot, e.previous].map((value) => el("td", { class: "r" }, number(value))))));
}
// not before htmx has taken the form over: the browser would submit it by itself
if (form.elements.key.value) addEventListener("load", () => form.requestSubmit());
