/* The events of a lab's sandbox, newest first, of which one is the answer: each is a button, a page of them at a time. */
import { $, attr, el } from "./dom.js";
import { clock } from "./format.js";
import { JournalList } from "./journal_list.js";
import { lookBack } from "./looking_back.js";

const PAGE = 100;

const OWN = ["AnswerStep", "TakeHint", "SetRate"], OF_LAB = ["PredictionGiven", "HintTaken", "StepMet", "ClockChanged"];

class Events extends JournalList {
  /** What the panel itself did is no answer. */
  kept(rows) {
    return super.kept(rows.filter((row) => !OF_LAB.includes(row.type) && !(row.type === "ActionTaken" && OWN.includes(row.action))));
  }

  /** Without links to places: a button holds none. */
  line(row) {
    const seq = String(row.seq), button = el("button", { type: "button", "data-seq": seq }, ...super.line({ ...row, messages: undefined }).childNodes);
    button.prepend(el("time", { class: "num muted" }, clock(Number(row.at_ms))));
    return el("li", {}, button);
  }
}

/**
 * Fills `[data-events]` of the panel, if there is one that is empty; what is chosen goes into the answer's field.
 * @param {HTMLElement} panel
 * @param {{ api: string, who: (id: string) => string, queue: (key: string) => string }} o
 */
export async function offerEvents(panel, { api, who, queue }) {
  const root = $("[data-events]", panel);
  if (!root || root.dataset.filled) return;
  root.dataset.filled = "yes";
  const list = $("ol", root), more = $("[data-older]", root), events = new Events(list, { keep: Infinity, who, queue });
  let before = null;
  const ask = async () => {
    const found = await lookBack(api, { show: "facts", most: PAGE, before });
    before = found.before;
    events.add(found.rows);
    more.hidden = before === null;
  };
  more.onclick = () => void ask(); // not added: the elements outlive a fetched panel
  list.onclick = ({ target }) => {
    const chosen = target.closest("[data-seq]");
    if (!chosen) return;
    for (const button of list.querySelectorAll("[data-seq]")) attr(button, "aria-pressed", String(button === chosen));
    const field = root.closest("form").elements.namedItem("value");
    field.value = chosen.dataset.seq;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  await ask().catch(() => (root.hidden = true)); // its number can be written
}
