// Draws the charts of a page into their places, in the colours of the reader's light or dark mode.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  // A colour of the page's style.
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // A narrow map has no room for the names of states.
  function theme(width) {
    const ink = of("--ink"), soft = of("--soft"), line = of("--line");
    const wide = width > 600;
    const font = getComputedStyle(document.body).fontFamily;
    const words = { labelColor: soft, titleColor: ink, labelFontSize: 12, titleFontSize: 13, titleFontWeight: 500, labelFont: font, titleFont: font };
    const name = { color: ink, fontSize: wide ? 12 : 10, fontWeight: 600 };
    const halo = { ...name, color: of("--land"), stroke: of("--land"), strokeWidth: 3, strokeJoin: "round" };
    return {
      background: "transparent",
      font: font,
      view: { stroke: null },
      axis: { ...words, gridColor: line, domainColor: soft, tickColor: soft },
      legend: { ...words, labelLimit: 400, titleLimit: 400 },
      header: words,
      title: { color: ink, font: font, fontSize: 14, anchor: "start" },
      text: { fill: ink, font: font },
      style: {
        land: { color: of("--land"), stroke: of("--border"), strokeWidth: 1 },
        "state-name": { color: soft, fontSize: 11, fontStyle: "italic", opacity: wide ? 0.9 : 0 },
        "power-line": { color: soft, strokeWidth: 0.6, opacity: 0.35 },
        pipe: { color: soft, strokeWidth: wide ? 1.6 : 1, opacity: 0.9 },
        bus: { color: ink, size: wide ? 26 : 12 },
        "bus-name": name,
        "bus-minor-name": { ...name, opacity: wide ? 1 : 0 },
        "halo-name": halo,
        "halo-minor-name": { ...halo, opacity: wide ? 1 : 0 },
        limit: { color: ink, strokeDash: [6, 4] },
        dot: { stroke: ink, strokeWidth: wide ? 0.8 : 0.5, opacity: 1 },
      },
    };
  }

  // Widths in a specification are shares of the place's width, so that a phone has its own picture.
  function sized(spec, width) {
    const copy = structuredClone(spec), meta = copy.usermeta || {};
    if (meta.aspect) {
      copy.view = { fill: of("--sea"), stroke: null };
      copy.width = width;
      copy.height = Math.round(width / meta.aspect);
    } else if (copy.vconcat) {
      for (const view of copy.vconcat) {
        if (view.spec) view.spec.width = Math.max(60, (width - 80) / meta.columns - 10);
        else view.width = width - 90;
      }
    } else {
      copy.width = "container";
      copy.autosize = { type: "fit-x", contains: "padding" };
    }
    return copy;
  }

  const charts = [];
  window.ppsmChart = function (id, spec) { charts.push([id, spec]); };

  function draw() {
    for (const [id, spec] of charts) {
      const place = document.getElementById(id);
      if (place.offsetParent === null) continue; // folded away: drawn when it is opened
      const options = { mode: "vega-lite", actions: false, renderer: "svg", config: theme(place.clientWidth), tooltip: { theme: dark.matches ? "dark" : "light" } };
      vegaEmbed(place, sized(spec, place.clientWidth), options);
    }
  }

  let width = 0;
  function drawAgain() {
    if (document.body.clientWidth !== width) { width = document.body.clientWidth; draw(); }
  }
  window.addEventListener("load", drawAgain);
  window.addEventListener("resize", drawAgain);
  dark.addEventListener("change", draw);
  document.addEventListener("toggle", (event) => { if (event.target.open) draw(); }, true);
})();
