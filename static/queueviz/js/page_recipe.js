/* A recipe link: its fragment goes into the form, which is sent at once; then the actions as sentences. */
import { $, $$, json, text } from "./dom.js";
import "./page_site.js";
import { sentence } from "./words.js";

const rows = json("rows") ?? [];
for (const node of $$("[data-fact]")) text(node, sentence(rows[node.dataset.fact], (id) => id, (key) => key));

const form = $("#recipe-form"), fragment = location.hash.slice(1);
if (form && fragment && !form.elements.text.value) {
  form.elements.text.value = fragment;
  form.requestSubmit();
}
