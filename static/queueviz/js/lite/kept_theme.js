/* Theme of the pages of an export, which has no server that could write it into them (js/page_lite.js keeps it). */
try {
  document.documentElement.dataset.theme = localStorage.getItem("queueviz theme") ?? "auto";
} catch {
  // a frame that may keep nothing
}
