// Charts, drawn by plotly.js from the aggregator itself. Each has its numbers in a table beside it; what is drawn
// differs in shape and dash as well as in colour.
import { h } from "./dom.js";
import { colour, onTheme } from "./theme.js";

const SERIES = ["mark", "second", "third", "fourth", "fifth"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const SYMBOLS = ["circle", "square", "triangle-up", "cross", "star"];
const QUIET = { displayModeBar: false, responsive: true, showTips: false };

let library;
function plotly() {
  library ??= new Promise((resolve, reject) => {
    const script = h("script", { src: document.getElementById("main-script").dataset.charts });
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("the chart library did not arrive"));
    document.head.append(script);
  });
  return library;
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) target.draw();
  },
  { rootMargin: "200px" },
);
const drawn = new Set();
onTheme(() => drawn.forEach((element) => element.isConnected && element.draw()));

const places = new Map(); // key -> its element, which stays when a page is made anew, so that it does not flicker

// A place for a chart that is drawn when it comes into view; `make` gives its traces and layout in today's colours.
function place(key, label, height, make, className = "chart") {
  const element = places.get(key) ?? h("div", { class: className, role: "img" });
  places.set(key, element);
  element.setAttribute("aria-label", label);
  element.style.height = `${height}px`;
  element.draw = async () => {
    seen.unobserve(element);
    drawn.add(element);
    const Plotly = await plotly();
    const { traces, layout, still } = make();
    await Plotly.react(element, traces, { ...base(height), ...layout }, { ...QUIET, staticPlot: still });
  };
  if (drawn.has(element)) element.draw();
  else seen.observe(element);
  return element;
}

// Every chart that the page has.
export function drawAll() {
  for (const element of places.values()) if (element.isConnected) element.draw();
}

function base(height) {
  return {
    height,
    autosize: true, // as wide as its place is now: paper is narrower
    margin: { l: 8, r: 12, t: 8, b: 32 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("soft") },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
    showlegend: false,
    dragmode: false,
  };
}

const axis = (more) => ({
  gridcolor: colour("line"),
  zerolinecolor: colour("soft"),
  linecolor: colour("line"),
  fixedrange: true,
  automargin: true,
  ...more,
});

const scale = (measure, more) => axis(measure === "MEASURE_SHARE" ? { tickformat: ".0%", ...more } : { tickformat: ",", ...more });

// Text as it is: what is drawn knows some tags, such as a link, and words come from devices.
const plain = (text) => text?.replace(/[&<>]/g, (sign) => `&${{ "&": "amp", "<": "lt", ">": "gt" }[sign]};`);

// `key` tells a chart from every other on the page.

// Lines with a dot: one row a label, each an interval with its value on it, on bars where these make sense.
// rows: [{label, value, low, high, fakesLow, fakesHigh, hover, truth, truthHover, marked}]; an interval without ends is not drawn, and what is
// marked is called new. A line goes across all of them: {at, words}.
export function bars(key, label, told, measure, { filled = true, line } = {}) {
  const height = 46 + told.length * 34;
  const rows = told.map((row) => ({ ...row, label: plain(row.label), hover: plain(row.hover), truthHover: plain(row.truthHover) }));
  return place(key, label, height, () => {
    const names = rows.map((row) => row.label);
    const ends = { x: [], y: [] };
    for (const row of rows) {
      if (row.low === undefined) continue;
      ends.x.push(row.low, drawable(row), null);
      ends.y.push(row.label, row.label, null);
    }
    const traces = [];
    if (filled) {
      traces.push({ type: "bar", orientation: "h", x: rows.map((row) => row.value), y: names, marker: { color: colour("fill") }, hoverinfo: "skip", width: 0.62 });
    }
    const bounded = rows.filter((row) => Number.isFinite(row.fakesLow) && Number.isFinite(row.fakesHigh));
    if (bounded.length) {
      const [x, y] = [bounded.flatMap((row) => [row.fakesLow, row.fakesHigh, null]), bounded.flatMap((row) => [row.label, row.label, null])];
      traces.push({ type: "scatter", mode: "lines", x, y, line: { color: colour("mark"), width: 16 }, opacity: 0.25, hoverinfo: "skip" });
    }
    traces.push(
      { type: "scatter", mode: "lines+markers", ...ends, line: { color: colour("mark"), width: 2.5 }, marker: { symbol: "line-ns", size: 12, color: colour("mark"), line: { color: colour("mark"), width: 2.5 } }, hoverinfo: "skip" },
      { type: "scatter", mode: "markers", x: rows.map((row) => row.value), y: names, text: rows.map((row) => row.hover), hovertemplate: "%{text}<extra></extra>", marker: { symbol: "circle", size: 10, color: colour("mark") } },
    );
    const marked = rows.filter((row) => row.marked);
    if (marked.length) {
      traces.push({ type: "scatter", mode: "markers+text", x: marked.map((row) => drawable(row)), y: marked.map((row) => row.label), text: marked.map(() => "new"), textposition: "middle right", textfont: { color: colour("good") }, marker: { size: 1, color: "rgba(0,0,0,0)" }, cliponaxis: false, hoverinfo: "skip" });
    }
    const known = rows.filter((row) => row.truth !== undefined);
    if (known.length) {
      traces.push({ type: "scatter", mode: "markers", x: known.map((row) => row.truth), y: known.map((row) => row.label), text: known.map((row) => row.truthHover), hovertemplate: "%{text}<extra></extra>", marker: { symbol: "diamond-open", size: 13, color: colour("truth"), line: { width: 2.5, color: colour("truth") } } });
    }
    const layout = {
      xaxis: scale(measure, { rangemode: filled ? "tozero" : "normal", side: "bottom" }),
      yaxis: axis({ autorange: "reversed", type: "category", gridcolor: "rgba(0,0,0,0)", tickfont: { color: colour("ink"), size: 14 }, ticksuffix: "  " }),
      hovermode: "closest",
      ...(line ? across(line) : {}),
    };
    return { traces, layout };
  });
}

const across = ({ at, words }) => ({
  shapes: [{ type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, line: { color: colour("soft"), width: 1.5, dash: "dash" } }],
  annotations: [{ x: at, xref: "x", y: 0, yref: "paper", text: words, showarrow: false, xanchor: "left", yanchor: "bottom", font: { color: colour("soft") } }],
});

// Lines over time with their bands. series: [{label, points: [{at, value, low, high, hover, truth}]}]
export function bands(key, label, told, measure) {
  const series = told.map((each) => ({ label: plain(each.label), points: each.points.map((point) => ({ ...point, hover: plain(point.hover) })) }));
  return place(key, label, 320, () => {
    const traces = series.flatMap((each, number) => band(each, number));
    const known = series[0].points.filter((point) => point.truth !== undefined);
    if (series.length === 1 && known.length) {
      traces.push({ x: known.map((point) => point.at), y: known.map((point) => point.truth), mode: "markers", name: "truth (simulated)", hoverinfo: "skip", marker: { symbol: "diamond-open", size: 11, color: colour("truth"), line: { width: 2, color: colour("truth") } } });
    }
    const layout = {
      xaxis: axis({ type: "date", nticks: 8 }),
      yaxis: scale(measure, { rangemode: "normal", nticks: 6 }),
      hovermode: "x unified",
      showlegend: traces.filter((trace) => trace.name).length > 1,
      legend: { orientation: "h", traceorder: "normal", y: 1.02, yanchor: "bottom", x: 0, font: { color: colour("ink") } },
      margin: { l: 8, r: 12, t: series.length > 1 ? 40 : 12, b: 32 },
    };
    return { traces, layout };
  });
}

function band({ label, points }, number) {
  const name = SERIES[number % SERIES.length];
  const x = points.map((point) => point.at);
  const edge = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
  return [
    { ...edge, y: points.map((point) => point.low) },
    { ...edge, y: points.map(drawable), fill: "tonexty", fillcolor: faint(colour(name)) },
    { x, y: points.map((point) => point.value), name: label, mode: "lines+markers", text: points.map((point) => point.hover), hovertemplate: "%{text}<extra></extra>", line: { color: colour(name), width: 2.5, dash: DASHES[number % DASHES.length] }, marker: { symbol: SYMBOLS[number % SYMBOLS.length], size: 7, color: colour(name) } },
  ];
}

// An interval without an upper end is drawn up to its value.
const drawable = ({ value, high }) => (Number.isFinite(high) ? high : value);

const faint = (hex) => `${hex}33`;

// A cumulative curve with its band, and quantiles as lines across with their intervals.
// points: [{at, value, low, high, hover, truth}]; marks: [{share, value, low, high, hover}]; a fitted curve is in steps
// of nothing but rises, and has no band.
export function curve(key, label, points, marks, fitted) {
  return place(key, label, 360, () => {
    const x = points.map((point) => point.at);
    const edge = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
    const traces = fitted
      ? []
      : [
          { ...edge, y: points.map((point) => point.low) },
          { ...edge, y: points.map((point) => point.high), fill: "tonexty", fillcolor: faint(colour("mark")) },
        ];
    traces.push({ x, y: points.map((point) => point.value), mode: "lines", text: points.map((point) => point.hover ?? ""), hovertemplate: "%{text}<extra></extra>", line: { color: colour("mark"), width: 2.5 } });
    for (const mark of marks) {
      traces.push({ x: [mark.low, mark.high], y: [mark.share, mark.share], mode: "lines+markers", hoverinfo: "skip", line: { color: colour("second"), width: 2 }, marker: { symbol: "line-ns", size: 9, color: colour("second"), line: { color: colour("second"), width: 2 } } });
    }
    if (marks.length) {
      traces.push({ x: marks.map((mark) => mark.value), y: marks.map((mark) => mark.share), mode: "markers", text: marks.map((mark) => mark.hover), hovertemplate: "%{text}<extra></extra>", marker: { symbol: "square", size: 8, color: colour("second") } });
    }
    const known = points.filter((point) => point.truth !== undefined);
    if (known.length > 2) {
      traces.push({ x: known.map((point) => point.at), y: known.map((point) => point.truth), mode: "lines", hoverinfo: "skip", line: { color: colour("truth"), width: 1.5, dash: "dot" } });
    }
    const layout = { xaxis: axis({ tickformat: ",", nticks: 8 }), yaxis: scale("MEASURE_SHARE", { range: [-0.02, 1.02], nticks: 6 }), hovermode: "closest" };
    return { traces, layout };
  });
}

// Shares of parts of a range, side by side. bars: [{label, ends, value, low, high, hover, truth}]; `range` of the
// shares, where several are to be compared.
export function columns(key, label, bars, range) {
  return place(key, label, 260, () => {
    const x = bars.map(({ ends: [start, end] }) => (start + end) / 2);
    const up = bars.map((bar) => (bar.high === undefined ? 0 : Math.max(bar.high - bar.value, 0)));
    const down = bars.map((bar) => (bar.low === undefined ? 0 : Math.max(bar.value - bar.low, 0)));
    const traces = [
      { type: "bar", x, y: bars.map((bar) => bar.value), width: bars.map(({ ends: [start, end] }) => (end - start) * 0.92), marker: { color: colour("fill"), line: { color: colour("mark"), width: 1 } }, text: bars.map((bar) => bar.hover), textposition: "none", hovertemplate: "%{text}<extra></extra>", error_y: { type: "data", symmetric: false, array: up, arrayminus: down, color: colour("mark"), thickness: 1.5, width: 2 } },
    ];
    const known = bars.filter((bar) => bar.truth !== undefined);
    if (known.length) {
      traces.push({ x: known.map(({ ends: [start, end] }) => (start + end) / 2), y: known.map((bar) => bar.truth), mode: "markers", hoverinfo: "skip", marker: { symbol: "diamond-open", size: 8, color: colour("truth"), line: { width: 2, color: colour("truth") } } });
    }
    return { traces, layout: { xaxis: axis({ tickformat: ",", nticks: 8 }), yaxis: scale("MEASURE_SHARE", { nticks: 5, range }), hovermode: "closest", bargap: 0 } };
  });
}

// A small band without axes.
export function spark(key, label, points) {
  return place(
    key,
    label,
    84,
    () => ({
      traces: band({ label, points }, 0).map((trace) => ({ ...trace, hoverinfo: "skip", hovertemplate: undefined, text: undefined, mode: "lines" })).concat([
        { x: [points.at(-1).at], y: [points.at(-1).value], mode: "markers", marker: { size: 8, color: colour("mark") }, hoverinfo: "skip" },
      ]),
      layout: {
        margin: { l: 6, r: 8, t: 6, b: 6 },
        xaxis: { visible: false, fixedrange: true, type: "date" },
        yaxis: { visible: false, fixedrange: true },
      },
      still: true,
    }),
    "spark",
  );
}

// How many there were of each size. bins: [{label, count}]
export function histogram(key, label, bins) {
  return place(key, label, 220, () => ({
    traces: [{ type: "bar", x: bins.map((bin) => bin.label), y: bins.map((bin) => bin.count), marker: { color: colour("mark") }, hovertemplate: "%{x}: %{y}<extra></extra>" }],
    layout: { xaxis: axis({ type: "category" }), yaxis: axis({ nticks: 4, tickformat: "~s" }), bargap: 0.25 },
  }));
}
