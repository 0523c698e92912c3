/* Difficulties of a class: one bar per step, drawn by uPlot; the table below each drawing has the same numbers. */
import { $$, el, json } from "./dom.js";
import { setUpKeys } from "./keys.js";
import { setUpTheme } from "./theme.js";

const LABEL_PX = 34;
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const { theme } = setUpTheme();
setUpKeys({ t: theme });

const bars = json("bars"), roots = $$(".aplot");
if (bars && roots.length) load(roots[0].dataset);

/** The library is fetched once, for all drawings. */
function load({ script, style }) {
  document.head.append(el("link", { rel: "stylesheet", href: style }));
  const node = el("script", { src: script });
  node.onload = () => roots.forEach(draw);
  document.head.append(node);
}

function draw(root) {
  const { labels, values, digits } = bars[root.dataset.plot];
  let plot = build(root, labels, values, digits);
  const again = () => {
    plot.destroy();
    plot = build(root, labels, values, digits);
  };
  new ResizeObserver(() => root.clientWidth && plot.width !== root.clientWidth && again()).observe(root);
  new MutationObserver(again).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

function build(root, labels, values, digits) {
  const axis = { font: `11px ${token("--mono")}`, stroke: token("--text-3"), ticks: { show: false }, grid: { stroke: token("--line"), width: 0.8 } };
  const every = Math.ceil((labels.length * LABEL_PX) / Math.max(1, root.clientWidth - 60));
  return new uPlot(
    {
      width: root.clientWidth,
      height: root.clientHeight,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, size: 24, grid: { show: false }, splits: () => labels.map((_, i) => i).filter((i) => i % every === 0), values: (_, splits) => splits.map((i) => labels[i]) },
        { ...axis, size: 46, incrs: digits ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000], values: (_, splits) => splits.map((v) => v.toFixed(digits)) },
      ],
      series: [{}, { fill: token("--accent"), stroke: token("--accent"), width: 0, points: { show: false }, paths: uPlot.paths.bars?.({ size: [0.6, 48] }) }],
    },
    [labels.map((_, i) => i), values],
    root,
  );
}
