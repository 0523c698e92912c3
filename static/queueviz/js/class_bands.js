/* The bands of a course above a sandbox: what the teacher did here, and the poll that is open. */
import { $, hide, text } from "./dom.js";
import { duration } from "./format.js";
import { t } from "./words.js";

const AGES_MS = 5000;

/** @param {any} page of `startShell`; on a lab's page `page.hold` is what its channel said already */
export function setUpBands(page) {
  const band = $("#hold"), { course } = $("#class-bands").dataset;
  let hold = page.hold ?? null, at = "", paced = null;

  document.body.addEventListener("queueviz:hold", ({ detail }) => ((hold = detail), paint()));
  if (!$("#lab"))
    page.live.follow(`lab/${encodeURIComponent(page.config.slug)}`, {
      changed(channel) {
        page.live.painted(channel);
        hold = channel.data.hold;
        paint();
      },
    });
  page.live.follow(`class/${course}`, {
    changed(channel) {
      page.live.painted(channel);
      const { poll } = channel.data, open = JSON.stringify(channel.data.pace);
      at = poll ? `${poll.number}/${poll.state}` : "";
      if ($("#class-poll").dataset.at !== at) document.body.dispatchEvent(new CustomEvent("queueviz:class-poll"));
      if ($("#class-voted")) text($("#class-voted"), t("poll.voted", { n: poll.voted, of: poll.of }));
      if (paced !== null && paced !== open) document.body.dispatchEvent(new CustomEvent("queueviz:lab"));
      paced = open;
    },
  }, { beside: true });
  setInterval(paint, AGES_MS);
  paint();

  function paint() {
    const words = holdLine(hold);
    hide(band, !words);
    text(band.children[0], words);
    const age_ms = isDid(hold) ? page.live.wall_ms - hold.effect.at_wall_ms : 0;
    text(band.children[1], words && age_ms >= AGES_MS ? t("hold.ago", { age: duration(age_ms) }) : "");
  }
}

const isDid = (hold) => Boolean(hold?.effect && !hold.coming[0] && !hold.acts && !hold.frozen && !["freeze", "take_over"].includes(hold.effect.kind));

/** What the teacher does or did here, in words; empty if that is nothing. */
export function holdLine(hold) {
  if (!hold) return "";
  const { frozen, acts, coming: [next], effect } = hold;
  if (next) return t("hold.coming", { s: next.in_s, what: t(`hold.${next.kind}`) });
  if (acts) return t("hold.acts");
  if (frozen) return t(effect?.kind === "freeze" && !effect.to_all ? "hold.frozen_here" : "hold.frozen");
  if (!isDid(hold)) return "";
  const did = t(`hold.did.${effect.kind}`, { what: effect.what, where: t(effect.to_all ? "hold.all" : "hold.one") });
  return effect.again ? `${did} ${t("hold.again")}` : did;
}
