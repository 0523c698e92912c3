/* API: the library's page has a dark style, which it takes from a class. */
const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  root.classList.toggle("dark-mode", root.dataset.theme === "dark" || (root.dataset.theme === "auto" && system.matches));
}

system.addEventListener("change", paint);
paint();
