/* A course's lab in the browser: the bar and the bands around it. What is sent, what the teacher does, the hand, the poll. */
import { holdLine } from "./class_bands.js";
import { $, $$, hide, text } from "./dom.js";
import { t } from "./words.js";

/** @type {{ take: (message: any) => void } | null} */
let course = null;

/** @param {HTMLElement} box of the tabs */
export function setUpClass(box) {
  course ??= courseOf(box);
  return course;
}

function courseOf(box) {
  const hand = $("#class-hand");
  let open_until = /** @type {number | null | undefined} */ (undefined);

  hand.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isUp = event.submitter?.value !== "down", fields = new FormData(hand, event.submitter);
    const answer = await fetch(hand.action, { method: "POST", body: fields, headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok) return text($("#class-sent"), t("class.away"));
    hand.elements.question.value = "";
    for (const button of $$("button", hand)) hide(button, (button.value === "up") === isUp);
  });

  const takes = {
    sent({ length, known, connected }) {
      const left = length - known;
      text($("#class-sent"), !connected ? t("class.away") : left ? t("class.waits", { n: left }) : t("class.received"));
    },
    held({ hold }) {
      const words = holdLine(hold);
      hide($("#hold"), !words);
      text($("#hold"), words);
    },
    course({ poll, open_until: until }) {
      if ($("#class-poll").dataset.at !== poll) document.body.dispatchEvent(new CustomEvent("queueviz:class-poll"));
      if (open_until !== undefined && open_until !== until) for (const frame of $$("iframe", box)) frame.contentDocument?.body.dispatchEvent(new CustomEvent("queueviz:lab"));
      open_until = until;
    },
  };
  return { take: (message) => takes[message.what]?.(message) };
}
