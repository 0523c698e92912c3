/* A recipe link: its fragment goes into the form, which is sent at once; then the actions as sentences. */
import { $ } from "./dom.js";
import "./page_branch.js";

const form = $("#recipe-form"), text = location.hash.slice(1);
if (form && text && !form.elements.text.value) {
  form.elements.text.value = text;
  form.requestSubmit();
}
