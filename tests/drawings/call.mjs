/* Runs a script with one of our modules for each line of JSON: [module, script, values] in, {value} or {error} out.
   The first line is the JSON data of the page, by element id: texts and configuration. */
import { createInterface } from "node:readline";

let page = null;
globalThis.document = { getElementById: (id) => (id in page ? { textContent: JSON.stringify(page[id]) } : null) };

for await (const line of createInterface({ input: process.stdin })) {
  if (page === null) {
    page = JSON.parse(line);
    continue;
  }
  const [name, script, values] = JSON.parse(line);
  let answer;
  try {
    const module = await import(new URL(`../../static/queueviz/js/${name}.js`, import.meta.url).href);
    answer = { value: (await (0, eval)(script)(module, ...values)) ?? null };
  } catch (error) {
    answer = { error: error.stack };
  }
  console.log(JSON.stringify(answer));
}
