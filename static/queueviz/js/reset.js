/* Offset reset: the form asks for a preview 150 ms after the last change; only what was previewed can be applied. */
import { $, $$, attr, cls, el, hide, rich, svg, text } from "./dom.js";
import { clock, duration, number } from "./format.js";
import { later } from "./later.js";
import { saveFile } from "./save_file.js";
import { windowFor } from "./scale.js";
import "./strip.js";
import { reach } from "./strip_plan.js";
import { say } from "./announce.js";
import { t } from "./words.js";

const WAIT_MS = 150, REPRICE_MS = 2000, BARS = 60, DAY_MS = 86400000;
const pad = (n, w = 2) => String(n).padStart(w, "0");
const MOMENT = /^(\d{4}-\d\d-(\d\d))(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/;

/** The typed time as milliseconds UTC, or null. `Date.parse` alone takes "monday 5" for a day in May and rolls 31 February over. */
export function momentOf(typed) {
  const [, day, ofMonth, time = "00:00"] = MOMENT.exec(typed.trim()) ?? [], at = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(at) || new Date(at).getUTCDate() !== Number(ofMonth) ? null : at;
}

/** around: config, live, clock, board (its newest reading), done (called when nothing is left to show). */
export function startReset(root, around) {
  const form = $("#rs-form", root);
  if (!form) return;
  htmx.process(root);
  const page = new ResetForm(root, form, around), { facts } = page;
  const over = new AbortController(), whileOpen = (fn) => (event) => (form.isConnected || page.sent ? fn(event) : over.abort());
  around.live.addEventListener("beat", whileOpen(() => page.reprice()), over);
  around.live.addEventListener("facts", whileOpen(({ detail }) => facts.push(...detail)), over);
}

class ResetForm {
  /** @type {any[]} those seen since it was opened */
  facts = [];
  /** @type {number | null} what the time field says, where it can be read */
  time = null;

  constructor(root, form, around) {
    this.root = root;
    this.form = form;
    this.around = around;
    this.now = Number($("#reset", root).dataset.now);
    this.plan = null;
    const given = Number(form.elements.value.value); // a link may say from which message on
    this.time = this.target === "time" && given > 0 ? given : this.now - 60000;
    form.addEventListener("input", (event) => this.#changed(event));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("htmx:beforeRequest", () => (this.asked = this.#says()));
    for (const chip of $$("[data-ago]", form)) chip.onclick = () => this.#setTime(chip.dataset.ago === "start" ? this.#range()[0] : this.#range()[1] - Number(chip.dataset.ago));
    $("#rs-typed", root).addEventListener("input", () => this.#show());
    $("#rs-cmd", root).onclick = () => this.#copy();
    $("#rs-export", root).onclick = () => this.#export();
    root.addEventListener("htmx:afterSettle", ({ target }) => target.id === "rs-prev" && this.#arrived());
    const apply = $("#rs-apply", root);
    apply.addEventListener("queueviz:acted", ({ detail }) => this.#applied(detail.seq));
    apply.addEventListener("htmx:afterRequest", ({ detail }) => detail.xhr.status === 409 && this.ask()); // the new plan beside its sentence
    this.#slider($("#rs-hist", root));
    this.#mode();
    this.#setTime(this.time);
  }

  get target() {
    return this.form.elements.target.value;
  }

  #changed({ target }) {
    this.touched = true;
    if (target.name === "target") this.#mode();
    if (target.id === "rs-time") {
      this.time = momentOf(target.value);
      this.#histogram();
    }
    this.#value();
    this.ask();
  }

  /** The current request as one text. */
  #says() {
    return String(new URLSearchParams(/** @type {any} */ (new FormData(this.form))));
  }

  /** The sentence beside the field that cannot be read, or null. */
  #wrong() {
    const value = this.form.elements.value.value, queues = $$("[name='queues[]']:checked", this.form).length;
    const wrong = { time: value === "", offset: !/^\d{1,18}$/.test(value), shift: !/^[+-]?\d{1,18}$/.test(value) };
    let first = null;
    for (const line of $$("[data-wrong]", this.form)) {
      const name = line.dataset.wrong, bad = name === "queues" ? !queues : name === this.target && wrong[name];
      hide(line, !bad);
      for (const field of $$(".inp[aria-describedby]", line.parentElement)) attr(field, "aria-invalid", bad ? "true" : null);
      if (bad) first ??= line.textContent;
    }
    return first;
  }

  /** Only the fields of the chosen mode are shown and sent. */
  #mode() {
    for (const box of $$("[data-mode]", this.form)) hide(box, box.dataset.mode !== this.target);
    this.form.elements.source_group.disabled = this.target !== "copy_of";
    this.#value();
    if (this.plan) this.#histogram();
  }

  #value() {
    const field = $(`[data-mode="${this.target}"] [data-number]`, this.form);
    this.form.elements.value.value = this.target === "time" ? (this.time === null ? "" : String(Math.round(this.time))) : (field?.value.trim().replace("−", "-") ?? "");
  }

  #setTime(at) {
    const [from, to] = this.#range();
    this.time = Math.max(from, Math.min(to, at));
    const d = new Date(this.time);
    $("#rs-time", this.form).value = `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1)}-${pad(d.getUTCDate())} ${clock(this.time)}`;
    this.#value();
    this.#histogram();
    this.ask();
  }

  #range() {
    const bars = this.plan?.histogram ?? [];
    return bars.length ? [bars[0].at_ms, Math.max(this.plan.at_ms, bars.at(-1).at_ms)] : [this.now - (this.around.config.attached ? DAY_MS : 300000), this.now];
  }

  ask() {
    clearTimeout(this.timer);
    this.#show();
    this.timer = setTimeout(() => this.#wrong() || htmx.trigger(this.form, "preview"), WAIT_MS);
  }

  /** Rows re-price themselves while the preview is open. */
  reprice() {
    if (!this.root.isConnected || document.hidden || !$("#rs-form", this.root) || (this.root.matches("dialog") && !this.root.open)) return;
    if (performance.now() - (this.priced ?? 0) > REPRICE_MS && !this.sent && !this.#wrong()) htmx.trigger(this.form, "preview");
  }

  #arrived() {
    this.priced = performance.now();
    this.previewed = this.asked;
    if ($(".rs-sum", this.root)) {
      const first = !this.plan;
      this.plan = JSON.parse($("#rs-data", this.root).textContent);
      this.#strips();
      this.#histogram();
      if (first && !this.touched && this.target === "time") return this.#setTime(this.time);
    }
    this.#show();
  }

  /** Draw the current and the new offset in one picture at any distance. */
  #strips() {
    const strips = $$("qv-strip[data-row]", this.root);
    const far = ({ dataset }) => reach({ ...JSON.parse(dataset.row), in_memory: JSON.parse(dataset.options).target });
    const window = windowFor(strips.map(far), Infinity);
    for (const strip of strips) strip.drawGiven({ window });
  }

  /** A preview is valid only for the current form; its cost is beside the preview button. */
  #show() {
    const prev = $("#rs-prev", this.root), wrong = this.#wrong(), fresh = !wrong && this.previewed === this.#says();
    if (wrong) prev.replaceChildren(el("p", { class: "rs-wait muted" }, t("reset.unreadable")));
    if (wrong) this.previewed = null;
    attr(prev, "aria-busy", fresh || wrong ? null : "true");
    const sum = $(".rs-sum", prev), { again, skipped, lag } = sum?.dataset ?? {}, skips = Number(skipped ?? 0) > 0;
    const refusal = $(".refusal > span", prev)?.textContent, priced = () => t("reset.price", { again: number(again), skipped: number(skipped), lag: number(lag) });
    rich($("#rs-say", this.root), wrong ?? (fresh ? (refusal ?? priced()) : t("reset.computing")));
    cls($("#rs-say", this.root), "bad", Boolean(wrong || (fresh && (refusal || skips))));
    const go = $("#rs-go", this.root), typed = $("#rs-typed", this.root), { attached, group } = $("#reset", this.root).dataset;
    const forbidden = go.dataset.forbidden !== undefined, asks = (attached !== undefined && !forbidden) || skips;
    hide($("#rs-conf", this.root), !asks);
    typed.disabled = !asks;
    const count = $$("[name='queues[]']:checked", this.form).length;
    text(go, count === 1 ? go.dataset.one : go.dataset.many.replace("{n}", count));
    for (const button of $$("#rs-cmd, #rs-export", this.root)) button.disabled = !fresh || !sum;
    go.disabled = !fresh || !sum || sum.dataset.refused !== undefined || forbidden || (asks && typed.value !== group);
  }

  async #applied(seq) {
    this.sent = true;
    say(t("say.reset", { group: $("#reset", this.root).dataset.group }));
    const { around, form } = this;
    if (form.elements.method.value !== "online" && !around.config.attached) return around.done();
    const it = await later(() => import("./reset_progress.js"));
    if (!it) return around.done(); // it is applied, and the journal has its steps
    new it.ResetProgress($("#reset", this.root), { ...around, seq, facts: this.facts, base: around.config.root, attached: around.config.attached, topic: form.elements.topic.value });
  }

  #slider(root) {
    const at = (event) => {
      const box = root.getBoundingClientRect(), [from, to] = this.#range();
      this.#setTime(from + ((event.clientX - box.left) / box.width) * (to - from));
    };
    root.onpointerdown = (event) => {
      root.setPointerCapture(event.pointerId);
      at(event);
      root.onpointermove = at;
    };
    root.onpointerup = () => (root.onpointermove = null);
    root.onkeydown = (event) => {
      const by = { ArrowLeft: -1000, ArrowRight: 1000, ArrowDown: -1000, ArrowUp: 1000, PageDown: -30000, PageUp: 30000 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.#setTime(this.time + by);
    };
    new ResizeObserver(() => this.#histogram()).observe(root);
  }

  /** Messages stored per slice of time; what lies after the chosen moment is consumed again. */
  #histogram() {
    const root = $("#rs-hist", this.root), width = root?.clientWidth;
    if (!width || this.target !== "time") return;
    const [from, to] = this.#range(), bins = new Array(BARS).fill(0), step = Math.max(1, (to - from) / BARS);
    for (const { at_ms, count } of this.plan?.histogram ?? []) bins[Math.min(BARS - 1, Math.max(0, Math.floor((at_ms - from) / step)))] += Number(count);
    const most = Math.max(1, ...bins), floor = 52, share = this.time === null ? 2 : (this.time - from) / Math.max(1, to - from), w = width / BARS, x = share * width;
    const bars = bins.map((count, i) => svg("rect", { x: (i * w + 0.6).toFixed(1), y: (floor - (count / most) * 44).toFixed(1), width: Math.max(0.5, w - 1.2).toFixed(1), height: ((count / most) * 44).toFixed(1), rx: 1, fill: (i + 0.5) / BARS >= share ? "var(--accent)" : "var(--line-strong)", opacity: (i + 0.5) / BARS >= share ? 0.75 : 0.55 }));
    const labels = [0, 0.34, 0.68, 1].map((f, i) => svg("text", { x: f * width, y: 69, "text-anchor": ["start", "middle", "middle", "end"][i], "font-size": 10.5, fill: "var(--text-3)", "font-family": "var(--mono)" }, i === 3 ? t("chart.now") : clock(from + f * (to - from), 0, { millis: false })));
    root.replaceChildren(...bars, svg("line", { x1: 0, x2: width, y1: floor + 0.5, y2: floor + 0.5, stroke: "var(--line-strong)" }), svg("line", { x1: x, x2: x, y1: 2, y2: floor + 4, stroke: "var(--text)", "stroke-width": 1.6 }), svg("circle", { cx: x, cy: 4, r: 4, fill: "var(--text)" }), ...labels);
    attr(root, "aria-valuenow", String(Math.round(Math.min(1, share) * 100)));
    attr(root, "aria-valuetext", this.time === null ? null : `${clock(this.time, 0, { millis: false })} UTC, ${duration(to - this.time)}`);
  }

  async #copy() {
    const { group, topic } = Object.fromEntries(new FormData(this.form)), plan = this.plan;
    const per = (plan?.rows ?? []).filter((row) => row.target !== null).map((row) => {
      const [, broker, id] = row.queue.match(/^(.*):(\d+)$/);
      return `mqadmin updateConsumerOffset -g ${group} -t ${topic} -b ${broker} -q ${id} -o ${row.target}`;
    });
    const line = this.target === "time" ? `mqadmin resetOffsetByTime -n ${$("#reset", this.root).dataset.servers ?? "127.0.0.1:9876"} -g ${group} -t ${topic} -s ${Math.round(this.time ?? 0)}` : per.join("\n");
    await navigator.clipboard?.writeText(line).catch(() => {});
    const button = $("#rs-cmd", this.root);
    button.dataset.sent = "✓";
    setTimeout(() => delete button.dataset.sent, 2000);
  }

  #export() {
    if (!this.plan) return;
    saveFile(JSON.stringify(this.plan, null, 1), "application/json", `reset-${this.plan.group}-${this.plan.seq}.json`);
  }
}
