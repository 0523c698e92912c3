/* Older journal rows, requested page by page: newest first, until there are enough rows, none is older, or the user
   must confirm a longer search. */
const MOST_REQUESTS = 32; // each looks at 4 MiB of the files at most

/**
 * {rows, before, at_ms, first_seq}; `before` null: no older rows.  `heard` is called with each response.
 * @param {string} api
 * @param {Record<string, any>} filters
 * @param {{ signal?: AbortSignal, heard?: (found: any) => void }} [options]
 */
export async function lookBack(api, { before = null, most, ...filters }, { signal, heard } = {}) {
  const rows = [];
  for (let request = 1; ; request++) {
    const query = new URLSearchParams({ ...filters, most: String(most - rows.length) });
    if (before !== null) query.set("before", before);
    const answer = await fetch(`${api}/journal?${query}`, { signal });
    if (!answer.ok) throw new Error(`the journal answered ${answer.status}`);
    const found = await answer.json();
    rows.push(...found.rows);
    before = found.before;
    if (before === null || rows.length >= most || request === MOST_REQUESTS) return { ...found, rows };
    heard?.(found);
  }
}

/** After a lost connection: what happened meanwhile, with a line that says so.  More than `most`: the list begins anew,
    and what is returned is where it can be asked on from. */
export async function fill(list, api, { after, before }, filters) {
  const found = await lookBack(api, { ...filters, after, before });
  if (found.before !== null) list.cut(before);
  const count = list.add(found.rows);
  if (found.before === null) list.gap(count, before);
  return found.before;
}
