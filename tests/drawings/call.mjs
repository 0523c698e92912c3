/* Runs a script with one of our modules for each line of JSON: [module, script, values] in, {value} or {error} out. */
import { createInterface } from "node:readline";

globalThis.document = { getElementById: () => null }; // texts and configuration of a page: there is none

for await (const line of createInterface({ input: process.stdin })) {
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
