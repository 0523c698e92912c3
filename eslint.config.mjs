import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["static/vendor/", "static/lite/", "tests/", "var/", ".venv/"] },
  js.configs.recommended,
  { files: ["script/**/*.mjs"], languageOptions: { globals: globals.node } },
  {
    files: ["static/queueviz/js/**/*.js"],
    languageOptions: { globals: { ...globals.browser, htmx: "readonly", uPlot: "readonly", Idiomorph: "readonly" } },
    rules: {
      "eqeqeq": "error",
      "no-shadow": ["error", { builtinGlobals: false }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
    },
  },
];
