/* The choices of What if?: only the actions that can replace the chosen one are offered. */
import { $ } from "./dom.js";
import { setUpTheme } from "./theme.js";

setUpTheme();
const action = $("[name=instead]")?.form.elements.seq;

function offer() {
  const others = action.selectedOptions[0].dataset.others.split(" "), choice = action.form.elements.instead;
  for (const option of choice.options) option.hidden = option.disabled = !others.includes(option.value);
  if (choice.selectedOptions[0]?.disabled ?? true) choice.value = others[0];
}

if (action) {
  action.addEventListener("change", offer);
  offer();
}
