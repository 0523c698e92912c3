/* The dialog of an action: its form comes from the server, so it knows what runs and what is full. */
import { shown } from "./address.js";
import { $, $$, json } from "./dom.js";

/** False where the form could not be had. */
export async function openDialog(name, { actor, clock }) {
  const dialog = $("#ask");
  if (!dialog || dialog.open) return true;
  const html = await formOf(name, actor);
  if (!html) return false;
  if (dialog.open) return true;
  dialog.innerHTML = html;
  const form = $("form", dialog);
  dialog.setAttribute("aria-labelledby", "ask-title");
  dialog.removeAttribute("aria-label");
  if (actor !== null && form) {
    form.elements.actor.value = actor;
    const card = $(`[data-actor="${CSS.escape(actor)}"]:has(.badge)`); // not the button of a finding
    const letter = $("[data-letter]", dialog);
    if (letter) {
      letter.textContent = card ? $(".badge", card).textContent : actor;
      letter.className = `badge ${[...(card?.classList ?? [])].find((c) => c.startsWith("me-")) ?? ""}`;
    }
  }
  fill[name]?.(form, clock);
  htmx.process(dialog);
  dialog.dispatchEvent(new CustomEvent("queueviz:asking", { bubbles: true, detail: { name, form } }));
  dialog.showModal();
  return true;
}

async function formOf(form, actor) {
  const { root, group, topic } = json("live"), known = Object.entries({ form, group, topic, actor }).filter(([, value]) => value);
  try {
    const answer = await fetch(`${root}part/ask/?${new URLSearchParams(known)}`);
    return answer.ok ? (await answer.text()).trim() : "";
  } catch {
    return "";
  }
}

/** What a form needs beyond its fields. */
const fill = {
  share() {
    const field = $("#ask [data-address]");
    field.value = shown();
    field.setAttribute("autofocus", "");
  },
  crash(form) {
    $("[data-foretold]", form).setAttribute("hx-get", `${json("live").root}ask/plan-crash/?${new URLSearchParams({ actor: form.elements.actor.value })}`);
  },
  slow(form) {
    for (const radio of $$('[name="how"]', form)) radio.name = "ui-how";
    const choose = () => {
      const chosen = form.querySelector('[name="ui-how"]:checked').value;
      for (const box of $$("[data-how]", form)) {
        box.hidden = box.dataset.how !== chosen;
        for (const input of $$("input, select", box)) input.disabled = box.hidden;
      }
    };
    form.addEventListener("change", choose);
    choose();
    const held = $(".q[aria-selected='true']");
    const me = [...$("[data-letter]", form).classList].find((name) => name.startsWith("me-")); // rows wear their owner's colour
    const own = me && (held?.classList.contains(me) ? held : $(`.q.${me}`));
    if (own) $("[data-slow-queue]", form).value = own.dataset.queue;
    const key = held?.dataset.oldestKey ?? $("[data-oldest-key]")?.dataset.oldestKey;
    if (key) $("[data-slow-key]", form).value = key;
  },
  consumer(form, clock) {
    const join = () => (form.elements.subscriptions.value = JSON.stringify([{ topic: $("[data-topic]", form).value, expression: $("[data-expression]", form).value || "*", kind: $("[data-filter]", form).value }]));
    const time = $("[data-from-time]", form), timestamp = form.elements.timestamp;
    const begin = () => {
      time.hidden = timestamp.disabled = form.elements.from_where.value !== "CONSUME_FROM_TIMESTAMP";
      timestamp.value = String(Math.round(clock.now() - Number(form.elements["ui-minutes"].value) * 60000));
    };
    form.addEventListener("input", () => (join(), begin()));
    join();
    begin();
  },
};

export async function copy(button) {
  const field = button.closest(".body, form").querySelector("[data-address], [data-copied]");
  field.select?.();
  await navigator.clipboard?.writeText(field.value ?? field.textContent).catch(() => {});
  button.closest("dialog")?.close();
}
