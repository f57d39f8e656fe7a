# Generated from modules/11_embeddings/positions_page_dev.py by tito export. Edit the lesson, not this file.
# source sha256 206d0f739c0dd5822c7a3354a83175878376f57ee93d9ca6c6579e9007e2fdfc  body sha256 8895be265fb584f33d84e987d4ab0397fda0601ba59d183368d0e6063f988deb  # noqa: E501
"""viz.positions_page: built in module 11_embeddings."""

from tinytorch.text.hf_writing import write_text

__all__ = ["PAGE", "write_positions_page"]


PAGE = r"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>A vector for each position</title>
<style>
:root { color-scheme: light dark;
        --back: #fff; --text: #1b1b1f; --soft: #5b5b66; --line: #c9c9d2; --ink: #0b57a4 }
@media (prefers-color-scheme: dark) {
  :root { --back: #16161a; --text: #ececf1; --soft: #a9a9b6; --line: #45454f; --ink: #8ab8ff }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--back); color: var(--text);
       font: 1rem/1.5 system-ui, sans-serif; accent-color: var(--ink) }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .5rem }
h2 { font-size: 1.15rem; margin: 2rem 0 .25rem }
p { margin: 0 0 .75rem; max-width: 44rem }
.soft, .axis, .ticks { color: var(--soft); font-size: .875rem }
.controls { display: grid; gap: .5rem 2rem;
            grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)) }
.control { display: grid; grid-template-columns: 1fr 5.5rem; column-gap: .75rem; align-items: center }
.control label { grid-column: 1 / -1 }
input { width: 100%; margin: 0; font: inherit }
input[type=number], button { padding: .2rem .5rem; color: inherit; background: transparent; font: inherit;
                             border: 1px solid var(--soft); border-radius: .3rem }
button { cursor: pointer }
:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px }
.map { display: grid; grid-template-columns: 2.2rem minmax(0, 1fr); column-gap: .4rem }
.map > :not(.down) { grid-column: 2 }
.picture { position: relative; height: clamp(14rem, 55vh, 26rem); cursor: crosshair; touch-action: pan-y;
           outline: 1px solid var(--line) }
.picture > * { position: absolute; inset: 0; width: 100%; height: 100% }
canvas { image-rendering: pixelated }
svg { display: block; overflow: visible }
svg * { vector-effect: non-scaling-stroke; fill: none; stroke: var(--text) }
.ticks { position: relative; height: 1.4rem; line-height: 1.4rem; font-variant-numeric: tabular-nums }
.ticks span { position: absolute; transform: translateX(-50%) }
.ticks.down { grid-column: 1; height: auto }
.ticks.down span { right: 0; transform: translateY(-50%) }
.marks span { color: var(--ink) }
.scale { display: flex; gap: .5rem; align-items: center; max-width: 16rem; margin: 0 0 .75rem }
#ramp { flex: 1; height: .7rem; border: 1px solid var(--line) }
#readout { display: block; margin: .75rem 0 }
ul { list-style: none; margin: 0; padding: 0 }
.name { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; margin-top: .75rem }
.name button { margin-left: auto; padding: 0 .5rem }
.name, #readout { font-variant-numeric: tabular-nums }
@media (max-width: 40rem) {
  #readout { min-height: 3rem }                              /* two lines, also when one would do */
  .name .soft { order: 1; flex-basis: 100% }
}
.wave { width: 100%; height: 3.5rem; border-block: 1px solid var(--line) }
.wave .zero { stroke: var(--line) }
.wave .curve { stroke: var(--ink); stroke-width: 1.5 }
.wave .dots { stroke: var(--ink); stroke-width: 5; stroke-linecap: round }
.wave .now { stroke: var(--soft); stroke-dasharray: 3 3 }
</style>
</head>
<body>
<h1>A vector for each position</h1>
<p>Each row is the vector that is added to the word in that position. <strong>Look down the
columns:</strong> on the left they change at every step, on the right hardly at all, like the hands of a
clock, ordered from the fastest to the slowest.</p>
<p>Columns come in pairs, a sine and a cosine of one speed. If d_model is odd, the last sine stands alone.</p>
<noscript><p><strong>The pictures are computed with JavaScript, which is off here.</strong></p></noscript>

<div class="controls">
  <div class="control"><label for="d">d_model, the numbers in a vector</label>
    <input type="range" id="d" min="1" max="256"><input type="number" id="d-number" min="1" max="1024"
      aria-label="d_model, as a number up to 1024"></div>
  <div class="control"><label for="n">positions, the rows</label>
    <input type="range" id="n" min="1" max="256"><input type="number" id="n-number" min="1" max="1024"
      aria-label="positions, as a number up to 1024"></div>
</div>

<h2>The heat map</h2>
<div class="map">
  <div class="axis">dimension →&ensp; position ↓</div>
  <div class="ticks" id="across" aria-hidden="true"></div>
  <div class="ticks down" id="down" aria-hidden="true"></div>
  <div class="picture" id="picture">
    <canvas id="map" role="img"></canvas>
    <svg preserveAspectRatio="none" aria-hidden="true">
      <rect id="row" x="0" height="1"/><rect id="column" y="0" width="1"/></svg>
  </div>
  <div class="ticks marks" id="marks" aria-hidden="true"></div>
  <div class="scale soft">−1<div id="ramp"></div>1</div>
</div>
<div class="controls">
  <div class="control"><label for="position">look at position</label>
    <input type="range" id="position" min="0"><span id="position-now" aria-hidden="true"></span></div>
  <div class="control"><label for="dimension">and dimension</label>
    <input type="range" id="dimension" min="0"><span id="dimension-now" aria-hidden="true"></span></div>
</div>
<output id="readout" for="position dimension d n"></output>
<button id="pick"></button>

<h2>Single dimensions as waves</h2>
<p class="soft">A click on the heat map shows the wave of that column, and another hides it; so does the
button above. The six newest are kept. Each strip goes from −1 to 1 over all positions; the dashed line is the
position looked at.</p>
<ul id="waves"></ul>
<div class="ticks" id="along" aria-hidden="true"></div>
<div class="axis">position →</div>

<script>
"use strict";
const $ = id => document.getElementById(id);
const MOST = 1024, WAVES = 6;
const state = {d: 128, n: 100, position: 10, dimension: 20, dims: [0, 20, 21, 40]};
const dark = matchMedia("(prefers-color-scheme: dark)");

// Number `dimension` of the vector for `position`: a global function, so that anybody may ask it.
function pe(position, dimension, d_model) {
  const angle = position / 10000 ** (2 * Math.floor(dimension / 2) / d_model);
  return dimension % 2 ? Math.cos(angle) : Math.sin(angle);
}

function written(value) { return value.toFixed(6).replace("-", "−"); }

function whole(text, low, high, otherwise) {
  const value = Math.floor(parseFloat(text));
  return Number.isNaN(value) ? otherwise : Math.min(Math.max(value, low), high);
}

function fill(parent, name, rows) {                          // one element for each [text, style]
  parent.replaceChildren(...rows.map(([text, style]) => {
    const element = document.createElement(name);
    element.textContent = text;
    Object.assign(element.style, style);
    return element;
  }));
}

function ticks(parent, count, side) {                        // 0, step, 2 step ... each amid its cell
  let step = 1;
  for (let i = 0; count / step > 8; i++) step *= i % 3 == 1 ? 2.5 : 2;      // 1 2 5 10 20 50 ...
  const rows = [];
  for (let i = 0; i < count; i += step) rows.push([i, {[side]: `${100 * (i + .5) / count}%`}]);
  fill(parent, "span", rows);
}

function colours() {                                         // of -1, 0 and 1
  return dark.matches ? [[90, 160, 255], [22, 22, 26], [255, 110, 90]]
                      : [[33, 102, 172], [250, 250, 250], [178, 24, 43]];
}

function draw_map() {
  const {d, n} = state, [cold, middle, warm] = colours();
  const canvas = $("map"), image = new ImageData(d, n);
  for (let p = 0, at = 0; p < n; p++)
    for (let i = 0; i < d; i++) {
      const value = pe(p, i, d), end = value < 0 ? cold : warm;
      for (let c = 0; c < 3; c++) image.data[at++] = middle[c] + (end[c] - middle[c]) * Math.abs(value);
      image.data[at++] = 255;
    }
  [canvas.width, canvas.height] = [d, n];
  canvas.getContext("2d").putImageData(image, 0, 0);
  canvas.setAttribute("aria-label", `Heat map of ${n} positions down and ${d} dimensions across`);
  canvas.nextElementSibling.setAttribute("viewBox", `0 0 ${d} ${n}`);
  $("ramp").style.background = `linear-gradient(90deg, ${[cold, middle, warm].map(c => `rgb(${c})`)})`;
  ticks($("across"), d, "left");
  ticks($("down"), n, "top");
  ticks($("along"), n, "left");
}

function drawn(name, attributes, ...inside) {                // an SVG element
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

function wave(dimension) {                                   // x is the position, y minus the value
  const {d, n} = state, dots = [], points = [], steps = n > 256 ? 4 : 16;
  for (let s = 0; s <= steps * (n - 1); s++) points.push(`${s / steps},${-pe(s / steps, dimension, d)}`);
  for (let p = 0; n <= 64 && p < n; p++) dots.push(`M${p},${-pe(p, dimension, d)}h0`);
  return drawn("svg", {class: "wave", role: "img", viewBox: `-.5 -1.15 ${n} 2.3`, preserveAspectRatio: "none",
                       "aria-label": `Dimension ${dimension} over ${n} positions`},
    drawn("line", {class: "zero", x1: -.5, x2: n - .5}),
    drawn("line", {class: "now", y1: -1.15, y2: 1.15}),
    drawn("polyline", {class: "curve", points: points.join(" ")}),
    drawn("path", {class: "dots", d: dots.join("")}));
}

function strip(dimension) {
  const item = document.createElement("li"), name = document.createElement("div");
  const length = 2 * Math.PI * 10000 ** ((dimension - dimension % 2) / state.d);
  const positions = length.toLocaleString("en", {maximumSignificantDigits: 3});
  fill(name, "span", [[`dimension ${dimension}`, {fontWeight: 600}],
                      [`${dimension % 2 ? "cosine" : "sine"}, one wave in ${positions} positions`, {}],
                      ["", {}]]);
  name.className = "name";
  name.children[1].className = "soft";
  name.children[2].className = "value";
  const button = document.createElement("button");
  button.id = `hide-${dimension}`;
  button.textContent = "×";
  button.setAttribute("aria-label", `Hide the wave of dimension ${dimension}`);
  button.onclick = () => {
    const next = (item.nextElementSibling ?? item.previousElementSibling)?.dataset.dimension;
    toggle(dimension);
    ($(`hide-${next}`) ?? $("pick")).focus({preventScroll: true});
  };
  name.append(button);
  item.dataset.dimension = dimension;
  item.append(name, wave(dimension));
  return item;
}

function draw_waves() {
  const {d, dims} = state, shown = dims.filter(i => i < d).sort((a, b) => a - b);
  $("waves").replaceChildren(...shown.map(strip));
  fill($("marks"), "span", shown.map(i => ["▴", {left: `${100 * (i + .5) / d}%`}]));
}

function draw_cursor() {
  const {d, n, position, dimension} = state, pair = dimension - dimension % 2;
  for (const [id, count, value] of [["position", n, position], ["dimension", d, dimension]]) {
    $(id).max = count - 1;
    $(id).value = value;
    $(id + "-now").textContent = value;
  }
  for (const [key, value] of [["y", position], ["width", d]]) $("row").setAttribute(key, value);
  for (const [key, value] of [["x", dimension], ["height", n]]) $("column").setAttribute(key, value);
  const value = written(pe(position, dimension, d)), f = dimension % 2 ? "cos" : "sin";
  $("readout").textContent =
    `PE(${position}, ${dimension}) = ${f}(${position} / 10000^(${pair}/${d})) = ${value}`;
  const verb = state.dims.includes(dimension) ? "Hide" : "Show";
  $("pick").textContent = `${verb} the wave of dimension ${dimension}`;
  for (const item of $("waves").children) {
    item.querySelector(".value").textContent =
      `at ${position}: ${written(pe(position, +item.dataset.dimension, d))}`;
    for (const x of ["x1", "x2"]) item.querySelector(".now").setAttribute(x, position);
  }
}

function draw() {
  state.position = Math.min(state.position, state.n - 1);
  state.dimension = Math.min(state.dimension, state.d - 1);
  for (const key of ["d", "n"]) {
    $(key).value = state[key];
    if (document.activeElement != $(key + "-number")) $(key + "-number").value = state[key];
  }
  draw_map();
  draw_waves();
  draw_cursor();
}

function toggle(dimension) {
  const others = state.dims.filter(i => i != dimension);
  state.dims = others.length < state.dims.length ? others : [...others, dimension].slice(-WAVES);
  draw_waves();
  draw_cursor();
  keep();
}

function keep() {                                            // in the address, to send it to somebody
  history.replaceState(null, "", `#d=${state.d}&n=${state.n}&dims=${state.dims}`);
}

function read_address() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const key of ["d", "n"]) state[key] = whole(asked.get(key), 1, MOST, state[key]);
  if (asked.has("dims")) {
    const dims = asked.get("dims").split(",").map(text => whole(text, 0, MOST - 1, null));
    state.dims = [...new Set(dims)].filter(i => i != null).slice(-WAVES);
  }
  draw();
}

for (const key of ["d", "n"])
  for (const id of [key, key + "-number"]) {
    $(id).oninput = () => { state[key] = whole($(id).value, 1, MOST, state[key]); draw(); };
    $(id).onchange = () => { $(id).value = state[key]; keep(); };
  }
for (const key of ["position", "dimension"])
  $(key).oninput = () => { state[key] = +$(key).value; draw_cursor(); };
$("pick").onclick = () => toggle(state.dimension);
$("picture").onpointermove = $("picture").onpointerdown = event => {
  const box = $("map").getBoundingClientRect(), {d, n} = state;
  state.dimension = whole((event.clientX - box.left) / box.width * d, 0, d - 1, 0);
  state.position = whole((event.clientY - box.top) / box.height * n, 0, n - 1, 0);
  draw_cursor();
};
$("picture").onclick = () => toggle(state.dimension);
onhashchange = read_address;
dark.onchange = draw_map;
read_address();
</script>
</body>
</html>
"""


def write_positions_page(path):
    """Write the page with the heat map and the waves of the sinusoidal positions; returns `path`.

    The whole page or nothing: an older file stays if anything fails. Open it in any browser; it needs no
    network. `#d=6&n=20&dims=0,1` at the end of its address sets d_model, the positions and the waves.
    Raises FileNotFoundError if there is no such folder. Formula: Vaswani et al. 2017, section 3.5.
    """
    write_text(path, PAGE)
    return path
