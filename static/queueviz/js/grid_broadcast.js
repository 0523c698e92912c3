/* The teacher's actions on all sandboxes: the broadcast form, freezing, healing, and taking control of one. */
import { refuse } from "./ask.js";
import { $, attr, hide, text } from "./dom.js";
import { number } from "./format.js";
import { t } from "./words.js";

const AT_ONCE = new Set(["freeze", "release", "heal", "take_over", "give_back"]);

export class Broadcast {
  #form = /** @type {HTMLFormElement} */ ($("#broadcast"));
  #reaches = 0; // sandboxes
  #sending = new Set(); // kinds: a countdown of one does not keep the others from being pressed

  /** @param {{ rows: () => Record<string, any>, shown: () => string | null, opened: () => string | null, selected: () => string[], refused: (why: Map<string, string>) => void, say: (words: string) => void }} page */
  constructor(page) {
    this.page = page;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { kind, in_s } = /** @type {any} */ (this.#form.elements);
      this.#send(kind.value, this.#scope(), in_s.value);
    });
    this.#form.addEventListener("change", () => this.paint());
    $("#freeze").addEventListener("click", () => this.freeze());
    $("#crash").addEventListener("click", () => this.#send("crash_member", this.#scope()));
    $("#heal").addEventListener("click", () => this.#send("heal", this.#scope()));
  }

  get frozen() {
    return this.#reached(this.#scope()).some((row) => row.frozen);
  }

  freeze() {
    this.#send(this.frozen ? "release" : "freeze", this.#scope());
  }

  take() {
    const one = this.page.opened();
    if (one) this.#send(this.page.rows()[one]?.acts ? "give_back" : "take_over", [one]);
  }

  /** The number of sandboxes, not of students, that a broadcast reaches. */
  paint() {
    const scope = this.#scope(), rows = this.#reached(scope);
    const begun = rows.filter((row) => row.slug), awake = begun.filter((row) => row.shown), n = awake.length, asleep = begun.length - n, sealed = awake.filter((row) => row.sealed).length;
    const words = [["grid.reaches", n], ["grid.asleep", asleep], ["grid.sealed", sealed]].filter(([, count]) => count).map(([key, count]) => t(String(key), { n: number(count) }));
    text($("#preview"), n ? words.join(" ") : "");
    attr($("#preview"), "data-warns", sealed ? "" : null);
    this.#reaches = n;
    const kind = /** @type {HTMLSelectElement} */ (/** @type {any} */ (this.#form.elements).kind);
    text($("#send"), n ? t("grid.send", { what: t(`grid.did.${kind.value}`), n: number(n) }) : t("grid.reaches_none"));
    this.#busy();
    attr($("#freeze"), "aria-pressed", String(this.frozen));
    text($("#freeze [data-word]"), this.frozen ? t("grid.did.release") : scope.length ? t("grid.freeze", { n: scope.length }) : t("grid.did.freeze"));
    text($("#heal"), scope.length ? t("grid.heal", { n: scope.length }) : t("grid.did.heal"));
    /** @type {any} */ (this.#form.elements).scope.disabled = this.page.selected().length > 0;
    const one = /** @type {HTMLOptionElement} */ ($("[name=scope] [value=open]", this.#form));
    hide(one, !this.page.opened());
    if (one.hidden && one.selected) /** @type {any} */ (this.#form.elements).scope.value = "";
  }

  #reached(scope) {
    return Object.entries(this.page.rows()).filter(([key]) => !scope.length || scope.includes(key)).map(([, row]) => row);
  }

  /** Numbers of students; none: all. A selection comes before what the form says. */
  #scope() {
    const selected = this.page.selected();
    if (selected.length) return selected;
    const scope = /** @type {any} */ (this.#form.elements).scope.value, shown = this.page.shown(), opened = this.page.opened();
    if (scope === "open" && opened) return [opened];
    if (scope === "shown" && shown) return Object.entries(this.page.rows()).filter(([, row]) => row.state === shown).map(([key]) => key);
    return [];
  }

  async #send(kind, students, in_s = "0") {
    if (this.#sending.has(kind)) return;
    this.#sending.add(kind);
    this.#busy();
    const form = new URLSearchParams({ kind, in_s }), { "X-CSRFToken": token } = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
    for (const one of students) form.append("students", one);
    const counting = this.#countDown(Number(in_s));
    try {
      const answer = await fetch(this.#form.action, { method: "POST", body: form, headers: { "X-CSRFToken": token } });
      const found = answer.headers.get("Content-Type")?.includes("json") ? await answer.json() : null;
      if (!answer.ok || !found) return refuse(this.#form, found ? `${found.error} ${found.hint}` : t("act.failed"), String(answer.status));
      this.#report(found);
    } catch {
      refuse(this.#form, t("act.failed"), "503");
    } finally {
      clearInterval(counting);
      this.#sending.delete(kind);
      this.#busy();
    }
  }

  #busy() {
    const faults = [...this.#sending].some((kind) => !AT_ONCE.has(kind));
    for (const id of ["#send", "#crash"]) /** @type {HTMLButtonElement} */ ($(id)).disabled = faults || !this.#reaches;
    for (const id of ["#freeze", "#heal"]) /** @type {HTMLButtonElement} */ ($(id)).disabled = !this.#reaches;
  }

  #countDown(s) {
    if (!s) return 0;
    const until = performance.now() + s * 1000, show = () => text($("#broadcast-answer"), t("grid.in", { s: Math.max(0, Math.ceil((until - performance.now()) / 1000)) }));
    show();
    return setInterval(show, 500);
  }

  #report({ kind, done, asleep, refused, late_ms, again }) {
    const parts = [t("grid.sent", { what: t(`grid.did.${kind}`), n: number(done), late: Math.ceil(late_ms) })];
    if (again) parts.push(t("grid.again", { n: number(again) }));
    if (asleep) parts.push(t("grid.skipped", { n: number(asleep) }));
    for (const why of new Set(refused.map((one) => one.why))) parts.push(t("grid.refused", { n: refused.filter((one) => one.why === why).length, why }));
    const rows = Object.entries(this.page.rows());
    this.page.refused(new Map(rows.flatMap(([key, row]) => refused.filter((one) => one.name === row.name).map((one) => [key, one.why]))));
    text($("#broadcast-answer"), parts.join(" · "));
    this.page.say(parts.join(". "));
  }
}
