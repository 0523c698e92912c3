/* The page that makes share links: copying the address. */
import { around } from "./dom.js";

document.addEventListener("click", async ({ target }) => {
  const button = around(target, "[data-copy]");
  if (!button) return;
  const field = /** @type {HTMLInputElement} */ (document.getElementById(button.dataset.copy));
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    document.execCommand("copy");
  }
});
