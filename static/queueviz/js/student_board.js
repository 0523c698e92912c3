/* The Board of the student who is open beside the grid: live, with a connection of its own, as each sandbox has its clock. */
import { SandboxClock } from "./clock.js";
import { $, hide, json, text } from "./dom.js";
import { Painter } from "./frame.js";
import { History } from "./history.js";
import { Live } from "./live.js";
import { QueueRows } from "./queue_rows.js";
import { nextWindow } from "./scale.js";
import { show } from "./shell.js";
import { shareWindow } from "./strip.js";
import { reach } from "./strip_plan.js";
import { t } from "./words.js";

const MOST = 16; // queues

export class StudentBoard {
  #clock = new SandboxClock();
  #painter = new Painter();
  #live = new Live(this.#clock);
  #rows = new QueueRows($("#student-rows"), $("#t-row"), { onSelect: () => {} });
  #captions = Object.fromEntries(["min", "next", "beyond", "below", "none"].map((name) => [name, t(`strip.${name}`)]));
  /** @type {any} */
  #strips = null;
  #shown = "";
  /** @type {any} */
  #data = null;

  constructor() {
    this.#live.addEventListener("status", () => hide($("#student-away"), this.#live.state === "connected" || this.#live.state === "connecting"));
    this.#painter.every(() => this.#data && this.#rows.tick(this.#data, this.#clock.now()));
  }

  /** @param {any} row of the grid */
  follow(row) {
    const name = row.slug && row.group && row.topic ? `board/${[row.slug, row.group, row.topic].map(encodeURIComponent).join("/")}` : "";
    if (name === this.#shown) return;
    this.#live.close();
    [this.#shown, this.#strips, this.#data] = [name, null, null];
    this.#rows.sync({});
    $("#student-members").replaceChildren();
    if (!name) return;
    const history = new History(row.slug);
    show({ live: this.#live, painter: this.#painter, config: json("live") }, name, (data, jump) => this.#paint(data, jump, history));
    this.#live.connect();
  }

  close() {
    this.follow({});
  }

  #paint(data, jump, history) {
    const now = this.#clock.now(), queues = Object.fromEntries(Object.entries(data.queues ?? {}).slice(0, MOST)), members = data.members ?? {};
    this.#data = { queues, members };
    this.#rows.sync(queues);
    this.#strips = nextWindow(this.#strips, Object.values(queues).map(reach).filter((lag) => lag !== null), performance.now(), now);
    shareWindow(this.#strips.size);
    this.#rows.paint(this.#data, { now, captions: this.#captions, jump, history });
    this.#members(members);
  }

  #members(members) {
    const list = $("#student-members"), rows = Object.values(members);
    while (list.children.length > rows.length) list.lastElementChild.remove();
    while (list.children.length < rows.length) list.append(document.createElement("li"));
    rows.forEach((member, at) => text(list.children[at], t("grid.member", { who: member.actor ?? member.letter, state: t(`state.${member.state}`) })));
  }
}
