/* The facts of two runs that only one of them has, in time order. */
import { markOf } from "./marks.js";

/**
 * @param {any[][]} runs facts of each run, with `ms` since the action and their sentence `said`
 * @returns {{ ms: number, texts: string[] }[]} a row for each time, with the sentences of each run
 */
export function differences(runs) {
  const marked = runs.map((facts) => facts.filter((fact) => fact.ms >= 0 && markOf(fact)));
  const keys = marked.map((facts) => new Set(facts.map(key)));
  /** @type {Map<number, string[][]>} */
  const rows = new Map();
  marked.forEach((facts, run) => {
    for (const fact of facts.filter((one) => !keys[1 - run].has(key(one)))) {
      if (!rows.has(fact.ms)) rows.set(fact.ms, runs.map(() => []));
      rows.get(fact.ms)?.[run].push(fact.said);
    }
  });
  return [...rows].sort(([a], [b]) => a - b).map(([ms, texts]) => ({ ms, texts: texts.map((said) => said.join(" · ")) }));
}

const key = ({ ms, said }) => `${ms} ${said}`;
