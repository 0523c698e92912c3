/* State of a channel: sections of rows. A delta sets fields of rows and names the rows that are gone; a field that is
   missing did not change, null is unknown. Rows that lost a field are gone and set again, so gone comes first. */

const isRow = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export function merge(state, { set = {}, gone = {} }) {
  for (const [section, keys] of Object.entries(gone ?? {})) for (const key of keys) if (state[section]) delete state[section][key];
  for (const [section, value] of Object.entries(set ?? {})) {
    if (value === null) delete state[section];
    else if (!isRow(value) || !isRow(state[section])) state[section] = value;
    else {
      const kept = state[section];
      for (const [key, row] of Object.entries(value)) kept[key] = isRow(row) && isRow(kept[key]) ? { ...kept[key], ...row } : row;
    }
  }
  return state;
}
