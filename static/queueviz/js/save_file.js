/* Saves what a page has made as a file of the reader. */
const KEPT_MS = 60_000; // a browser may ask where to save it

/** @param {BlobPart} body @param {string} type @param {string} name */
export function saveFile(body, type, name) {
  const url = URL.createObjectURL(new Blob([body], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
