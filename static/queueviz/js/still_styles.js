/* The strips' rules and patterns as this page has them, with its theme's colours, for a picture that leaves it. */
const OWN = `.ground { fill: var(--surface); stroke: var(--line); } .line { stroke: var(--line); } text { font: 12px var(--mono); fill: var(--text-2); }
 .title, .name { font: 600 15px var(--sans); fill: var(--text); } .name { font-size: 13px; } .lag { font-weight: 600; fill: var(--text); }
 .owner { fill: var(--me); } .letter { font-weight: 700; fill: var(--surface); }`;
const WANTED = /^\.s[ .]|^\.me-/;

function* rulesOf(list) {
  for (const rule of list) {
    if (rule instanceof CSSLayerBlockRule) yield* rulesOf(rule.cssRules);
    else if (rule instanceof CSSStyleRule && WANTED.test(rule.selectorText)) yield rule.cssText;
  }
}

export function stylesOfPage() {
  const rules = [...document.styleSheets].flatMap((sheet) => [...rulesOf(sheet.cssRules)]).join("\n");
  const patterns = [...document.querySelectorAll(".patterns pattern")].map((node) => node.outerHTML).join("");
  const root = getComputedStyle(document.documentElement), used = new Set(`${OWN}${rules}${patterns}`.match(/--[\w-]+(?=[,)])/g));
  const values = [...used].map((name) => [name, root.getPropertyValue(name).trim()]).filter(([, value]) => value);
  return { css: `svg { ${values.map(([name, value]) => `${name}: ${value};`).join(" ")} }\n${OWN}\n${rules}`, patterns };
}
