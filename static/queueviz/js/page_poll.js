/* The poll of a course, the teacher's page and the student's: channel `class/…` says when it is to be fetched again. */
import { say } from "./announce.js";
import { SandboxClock } from "./clock.js";
import { $, el, json } from "./dom.js";
import { Painter } from "./frame.js";
import { setUpKeys } from "./keys.js";
import { Live } from "./live.js";
import { Pill } from "./pill.js";
import { show } from "./shell.js";
import { setUpTheme } from "./theme.js";
import { t } from "./words.js";

const WITHOUT_LINE_MS = 5000;
const SPOKEN = [100, 90, 50]; // of 100 who have voted: counts between do not speak
const { theme, projector } = setUpTheme();
const config = json("live"), painter = new Painter(), live = new Live(new SandboxClock());
const share = (voted, of) => SPOKEN.find((one) => of > 0 && voted * 100 >= one * of) ?? 0;
/** What is spoken already: at first, what the page was drawn with. */
let counted = { at: $("#poll").dataset.at ?? "", spoken: share(Number($("#voted")?.textContent), Number($("#of")?.textContent)) };

new Pill(live, painter);
show({ live, painter, config }, config.channels.class, ({ poll }) => {
  const page = $("#poll"), at = poll ? `${poll.number}/${poll.state}` : "";
  if (page.dataset.at !== at) return fetchAgain();
  if (poll && $("#seats")) seats(poll);
});
setUpKeys({ t: theme, ...($("#proj") ? { p: projector } : {}), Enter: () => $("#primary")?.click() });
setInterval(() => live.status !== "connected" && !document.hidden && fetchAgain(), WITHOUT_LINE_MS);
live.connect();

function fetchAgain() {
  if ($("#poll").dataset.at !== "ask") document.body.dispatchEvent(new CustomEvent("queueviz:poll")); // unless a question is being written
}

/* What is chosen and not sent yet stays, unless the vote has closed meanwhile. */
let begun = false;
document.body.addEventListener("change", ({ target }) => target instanceof HTMLInputElement && (begun = true));
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const post = detail.requestConfig.verb !== "get", whole = detail.serverResponse.includes('id="poll"'), same = detail.serverResponse.includes(`data-at="${$("#poll").dataset.at}"`);
  if (!whole || (!post && same && begun)) detail.shouldSwap = false;
  else if (post || !same) begun = false;
  if (post && !whole) notSent();
});
document.body.addEventListener("htmx:sendError", ({ detail }) => detail.requestConfig.verb !== "get" && notSent());

function notSent() {
  $("#receipt").textContent = t("poll.not_sent");
}

/** Written afresh each time: what is fetched again is morphed into the same nodes. */
function seats({ voted, of, number, state }) {
  $("#voted").textContent = voted;
  $("#of").textContent = of;
  const row = $("#seats");
  while (row.children.length > of) row.lastChild.remove();
  while (row.children.length < of) row.append(el("i"));
  [...row.children].forEach((seat, at) => seat.classList.toggle("taken", at < voted));
  const at = `${number}/${state}`, reached = share(voted, of);
  const spoken = counted.at === at ? counted.spoken : 0;
  if (reached > spoken && counted.at === at) say(t("poll.voted", { n: voted, of }));
  counted = { at, spoken: Math.max(reached, spoken) };
}
