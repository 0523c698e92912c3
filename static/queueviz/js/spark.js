/* The small curve beside each queue: its lag over five minutes. Redrawn only when the history has a new second. */
import { attr } from "./dom.js";

const W = 86, H = 26, POINTS = 60;

export function drawSpark(node, series) {
  if (node._version === series.version) return;
  node._version = series.version;
  const values = series.calmTail(300), each = Math.max(1, Math.ceil(values.length / POINTS));
  const points = [];
  for (let i = values.length - 1; i >= 0; i -= each) points.unshift(values[i]);
  node._paths ??= [node.querySelector(".area"), node.querySelector(".line")];
  if (points.length < 2) return;
  const top = Math.max(40, ...points.map((v) => v ?? 0)) * 1.05, step = W / (POINTS - 1), left = W - (points.length - 1) * step;
  let line = "", area = "", pen = false, from = "";
  points.forEach((v, i) => {
    if (v === null) {
      if (pen) area += `L${(left + (i - 1) * step).toFixed(1)} ${H}Z`;
      pen = false;
      return;
    }
    const x = (left + i * step).toFixed(1), y = (H - 2 - (v / top) * (H - 4)).toFixed(1);
    line += `${pen ? "L" : "M"}${x} ${y}`;
    area += pen ? `L${x} ${y}` : `M${x} ${H}L${x} ${y}`;
    pen = true;
    from = x;
  });
  if (pen) area += `L${from} ${H}Z`;
  attr(node._paths[0], "d", area);
  attr(node._paths[1], "d", line);
}
