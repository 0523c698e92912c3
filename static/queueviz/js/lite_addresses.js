/* Addresses of Lite's page. A page of an export has relative ones, since it does not know where it is put; frames and the
   worker need paths. */

/** @param {string} address @param {string | URL} [base] */
export const pathOf = (address, base = document.baseURI) => new URL(address, base).pathname;

const pathsOf = (addresses) => Object.fromEntries(Object.entries(addresses).map(([language, address]) => [language, pathOf(address)]));

/** The start values of the page with paths. @template {Record<string, any> | null} T @param {T} config @returns {T} */
export function resolved(config) {
  if (!config) return config;
  const { files, recipes, translated } = config, paths = {};
  for (const name of ["worker", "recorder", "root", "home", "static"]) paths[name] = pathOf(config[name]);
  return {
    ...config, ...paths,
    recipes: { ...recipes, lite: pathOf(recipes.lite) },
    files: { ...files, pyodide: pathOf(files.pyodide), feed: pathOf(files.feed), packs: files.packs.map((pack) => ({ ...pack, url: pathOf(pack.url) })), offline: pathsOf(files.offline) },
    translated: translated && pathsOf(translated),
  };
}
