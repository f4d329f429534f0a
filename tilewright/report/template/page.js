"use strict";
// The timeline. Everything else on the page is plain markup and works without this script.
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const byId = (id) => document.getElementById(id);
  const viewport = byId("viewport"), extent = byId("extent"), canvas = byId("tracks"), overview = byId("overview");
  const tip = byId("tip"), selection = byId("selection"), rangeText = byId("range");
  const AXIS = 30, ROW = 22, LOCK_ROW = 26, HEADER = 24, STEP = 0.2, ZOOM = 1.6, LEAST = 8, MOST_ARROWS = 80, NARROW = 560;
  const SPAN = 5;  // numbers per span in the data: gap, cycles, phase, detail, words

  // Data: columns per track.

  for (const track of run.tracks) {
    if (track.spans) unpack(track);
    if (track.bins) track.bins = Uint8Array.from(atob(track.bins), (c) => c.charCodeAt(0));
  }

  function unpack(track) {
    const flat = track.spans, count = flat.length / SPAN;
    const column = () => new Float64Array(count);
    Object.assign(track, { start: column(), end: column(), phase: column(), detail: column(), words: column(), count });
    for (let i = 0, at = 0; i < count; i++) {
      track.start[i] = at + flat[SPAN * i];
      at = track.end[i] = track.start[i] + flat[SPAN * i + 1];
      track.phase[i] = flat[SPAN * i + 2];
      track.detail[i] = flat[SPAN * i + 3];
      track.words[i] = flat[SPAN * i + 4];
    }
    track.spans = null;
  }

  // State: what is shown, and what is chosen.

  const whole = Math.max(run.cycles, 1);
  const unit = run.unit ?? "cycle";  // what is counted: a page of another kind of run has its own word, and maybe no clock
  const view = { from: 0, to: whole, rows: [], height: 0, track: null, span: null, width: 0, visible: 0, plot: 50, gutter: 168, indent: 22 };
  window.tilewright = { view, run };  // for whoever scripts the page

  function layout() {
    const wanted = byId("filter").value.trim().toLowerCase();
    const locks = byId("show-locks").checked;
    view.rows = [];
    let y = AXIS, group = -1;
    run.tracks.forEach((track, number) => {
      const name = run.groups[track.group] + " " + track.name;
      if ((track.kind === "lock" && !locks) || !name.toLowerCase().includes(wanted)) return;
      if (track.group !== group) {
        group = track.group;
        view.rows.push({ y, height: HEADER, header: run.groups[group] });
        y += HEADER;
      }
      const height = track.kind === "lock" ? LOCK_ROW : ROW;
      view.rows.push({ y, height, number, track });
      y += height;
    });
    view.height = y + 6;
    extent.style.height = view.height + "px";
    viewport.style.height = `min(${view.height + 2}px, 62vh, 620px)`;
    measure();
    draw();
  }

  const plotWidth = () => view.plot;
  function measure() {  // once per change: asking for it may lay out the page
    view.width = viewport.clientWidth;
    view.visible = viewport.clientHeight;
    [view.gutter, view.indent] = view.width < NARROW ? [104, 10] : [168, 22];  // a phone has no room for more
    view.plot = Math.max(view.width - view.gutter - 8, 50);
  }
  const xOf = (cycle) => view.gutter + (cycle - view.from) / (view.to - view.from) * plotWidth();
  const cycleAt = (x) => view.from + (x - view.gutter) / plotWidth() * (view.to - view.from);

  function show(from, to) {
    const length = Math.min(Math.max(to - from, Math.min(LEAST, whole)), whole);
    view.from = Math.min(Math.max(from, 0), whole - length);
    view.to = view.from + length;
    draw();
  }
  const zoom = (factor, at = (view.from + view.to) / 2) =>
    show(at - (at - view.from) / factor, at + (view.to - at) / factor);
  const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

  // Colours come from the style sheet, so that light and dark are decided in one place.

  let paint = {};
  function readColours() {
    const probe = document.body.appendChild(document.createElement("span"));
    const colour = (name) => {  // as it is in the theme of now: light-dark() stays as it is in a property
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    const sans = getComputedStyle(document.documentElement).getPropertyValue("--sans").trim();
    paint = { phases: run.phases.map((phase) => colour(phase.colour)), sans };
    for (const name of ["ink", "quiet", "line", "paper", "ground", "groove", "accent"]) paint[name] = colour(name);
    probe.remove();
  }
  const isWait = (phase) => run.phases[phase].kind === "waiting";

  // Drawing.

  let asked = false;
  function draw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; drawTracks(); drawOverview(); drawRange(); fillBars(); });
  }

  function prepare(target, width, height) {
    const scale = window.devicePixelRatio || 1;
    if (target.width !== Math.round(width * scale) || target.height !== Math.round(height * scale)) {
      target.width = Math.round(width * scale);
      target.height = Math.round(height * scale);
      target.style.width = width + "px";
      target.style.height = height + "px";
    }
    const context = target.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  function drawTracks() {
    const width = view.width, height = Math.min(view.visible, Math.max(view.height, 60));
    paintTracks(prepare(canvas, width, height), width, height, viewport.scrollTop);
  }

  function paintTracks(c, width, height, top) {
    c.font = "12px " + paint.sans;
    c.textBaseline = "middle";
    for (const row of view.rows) {
      const y = row.y - top;
      if (y + row.height < AXIS || y > height) continue;
      row.track ? drawRow(c, row, y, width) : drawHeader(c, row, y, width);
    }
    if (byId("show-tasks").checked) drawTasks(c, top, height);
    drawNames(c, top, height);
    drawAxis(c, width, height);
  }

  function drawHeader(c, row, y, width) {
    c.fillStyle = paint.groove;
    c.fillRect(0, y + 3, width, row.height - 4);
    c.fillStyle = paint.ink;
    c.font = "600 12px " + paint.sans;
    c.fillText(row.header, 10, y + 3 + (row.height - 4) / 2);
    c.font = "12px " + paint.sans;
  }

  function drawRow(c, row, y, width) {
    if (row.number === view.track) {
      c.fillStyle = paint.groove;
      c.fillRect(0, y, width, row.height);
    }
    if (row.track.steps) drawSteps(c, row.track, y, row.height);
    else if (row.track.bins) drawBins(c, row.track, y, row.height);
    else drawSpans(c, row, y);
  }

  function firstSpan(track, cycle) {  // the first that ends after a cycle
    let low = 0, high = track.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      track.end[middle] > cycle ? (high = middle) : (low = middle + 1);
    }
    return low;
  }

  function drawSpans(c, row, y) {
    const track = row.track, right = xOf(view.to);
    let lastPixel = -1, lastPhase = -1;
    for (let i = firstSpan(track, view.from); i < track.count && track.start[i] < view.to; i++) {
      const x = Math.max(xOf(track.start[i]), view.gutter), width = Math.min(xOf(track.end[i]), right) - x;
      const phase = track.phase[i], pixel = Math.floor(x);
      if (width < 1 && pixel === lastPixel && phase === lastPhase) continue;
      lastPixel = pixel;
      lastPhase = phase;
      drawSpan(c, track, i, phase, x, y, Math.max(width - (width > 4 ? 0.6 : 0), 0.7), row.height);
      if (row.number === view.track && i === view.span) outline(c, x, y, width, row.height);
    }
  }

  function drawSpan(c, track, i, phase, x, y, width, height) {
    const full = height - 5, cycles = track.end[i] - track.start[i];
    const rate = track.words[i] ? Math.min(track.words[i] / cycles, 1) : 1;
    c.fillStyle = paint.phases[phase];
    if (rate < 1) {
      c.globalAlpha = 0.3;
      c.fillRect(x, y + 3, width, full);
      c.globalAlpha = 1;
    }
    const share = isWait(phase) ? 0.42 : rate;
    c.fillRect(x, y + 3 + full * (1 - share), width, full * share);
    if (width > 46) {
      const label = labelOf(track, i);
      c.fillStyle = isWait(phase) ? paint.quiet : rate < 0.7 || run.phases[phase].colour === "prepare" ? paint.ink : paint.paper;
      c.save();
      c.beginPath();
      c.rect(x, y, width - 3, height);
      c.clip();
      c.font = "10.5px " + paint.sans;
      if (!isWait(phase) || width > 90) c.fillText(label, x + 5, y + (isWait(phase) || rate < 0.7 ? 7.5 : height / 2 + 0.5));
      c.restore();
    }
  }

  function outline(c, x, y, width, height) {
    c.strokeStyle = paint.ink;
    c.lineWidth = 2;
    c.strokeRect(x - 1, y + 1.5, Math.max(width, 1) + 2, height - 2.5);
  }

  function drawBins(c, track, y, height) {
    const kinds = track.phases.length, bins = track.bins.length / kinds, full = height - 5;
    const first = Math.max(Math.floor(view.from / run.binCycles), 0);
    const wide = Math.max(Math.ceil((view.to - view.from) / run.binCycles / plotWidth()), 1);
    for (let bin = first - first % wide; bin < bins && bin * run.binCycles < view.to; bin += wide) {
      const x = Math.max(xOf(bin * run.binCycles), view.gutter), width = xOf((bin + wide) * run.binCycles) - x;
      let bottom = y + 3 + full;
      for (let kind = 0; kind < kinds; kind++) {
        let share = 0;
        for (let b = bin; b < Math.min(bin + wide, bins); b++) share += track.bins[b * kinds + kind];
        const tall = share / wide / 255 * full;
        c.fillStyle = paint.phases[track.phases[kind]];
        c.globalAlpha = isWait(track.phases[kind]) ? 0.55 : 1;
        c.fillRect(x, bottom - tall, width + 0.4, tall);
        bottom -= tall;
      }
    }
    c.globalAlpha = 1;
  }

  function drawSteps(c, track, y, height) {
    const steps = track.steps, bottom = y + height - 4;
    let most = 1;
    for (let i = 1; i < steps.length; i += 2) most = Math.max(most, steps[i]);
    const level = (value) => bottom - value / most * (height - 9);
    c.beginPath();
    let value = steps.length && steps[0] === 0 ? steps[1] : 0;
    c.moveTo(view.gutter, level(value));
    for (let i = 0; i < steps.length; i += 2) {
      if (steps[i] > view.to) break;
      const x = Math.max(xOf(steps[i]), view.gutter);
      c.lineTo(x, level(value));
      value = steps[i + 1];
      c.lineTo(x, level(value));
    }
    c.lineTo(xOf(view.to), level(value));
    c.strokeStyle = paint.accent;
    c.lineWidth = 1.3;
    c.stroke();
    c.fillStyle = paint.quiet;
    c.font = "9px " + paint.sans;
    c.fillText(String(most), view.gutter - 14, y + 8);
  }

  function drawTasks(c, top, height) {
    const rows = new Map(view.rows.filter((row) => row.track).map((row) => [row.number, row]));
    const home = rows.get(0);
    if (!home || run.tracks[0].kind !== "controller") return;
    const inSight = (row) => row && row.y + row.height > top + AXIS && row.y < top + height;
    let shown = run.tasks.filter((t) => inSight(rows.get(t[0])) && (t[4] ?? t[3] ?? whole) >= view.from && t[1] <= view.to);
    if (shown.length > MOST_ARROWS) shown = shown.filter((t) => t[0] === view.track);  // else they hide everything
    c.save();
    c.beginPath();
    c.rect(view.gutter, AXIS, plotWidth() + 8, height - AXIS);
    c.clip();
    c.lineWidth = 1.2;
    for (const [track, pushed, start, end, token] of shown) {
      const row = rows.get(track), middle = row.y - top + row.height / 2, base = home.y - top + home.height - 3;
      c.globalAlpha = view.track === null || view.track === track || view.track === 0 ? 0.8 : 0.25;
      c.strokeStyle = paint.ink;
      arrow(c, xOf(pushed), base, xOf(start ?? pushed), middle);
      if (token !== null && end !== null) arrow(c, xOf(end), middle, xOf(token), base);
    }
    c.restore();
  }

  function arrow(c, x0, y0, x1, y1) {
    const bend = Math.max(Math.abs(y1 - y0) * 0.4, 12), way = Math.sign(y1 - y0) || 1;
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0, y0 + way * bend, x1, y1 - way * bend, x1, y1 - way * 4);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 3, y1 - way * 6);
    c.lineTo(x1 + 3, y1 - way * 6);
    c.fillStyle = c.strokeStyle;
    c.fill();
  }

  function drawNames(c, top, height) {
    for (const row of view.rows) {
      const y = row.y - top;
      if (!row.track || y + row.height < AXIS || y > height) continue;
      c.fillStyle = row.number === view.track ? paint.accent : paint.quiet;
      c.font = (row.number === view.track ? "600 " : "") + "12px " + paint.sans;
      c.fillText(fitted(c, row.track.name, view.gutter - 14 - view.indent), view.indent, y + row.height / 2);
    }
  }

  function fitted(c, text, width) {  // with its middle left out where it is too long: lock names differ at both ends
    if (c.measureText(text).width <= width) return text;
    let keep = text.length - 1;
    const shown = () => text.slice(0, Math.ceil(keep / 2)) + "…" + text.slice(text.length - Math.floor(keep / 2));
    while (keep > 2 && c.measureText(shown()).width > width) keep--;
    return shown();
  }

  function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least) ?? 10 * power;
  }

  function drawAxis(c, width, height) {
    c.fillStyle = paint.paper;
    c.fillRect(0, 0, width, AXIS);
    c.font = "11px " + paint.sans;
    const step = niceStep((view.to - view.from) / (plotWidth() / 110));
    for (let cycle = Math.ceil(view.from / step) * step; cycle <= view.to; cycle += step) {
      const x = xOf(cycle);
      c.fillStyle = paint.quiet;
      const name = cycle.toLocaleString("en"), side = x + 4 + c.measureText(name).width > width ? -4 - c.measureText(name).width : 4;
      c.fillText(name, x + side, 9);
      if (run.clock) c.fillText(time(cycle), x + side, 21);
      c.fillStyle = paint.line;
      c.fillRect(x, 2, 1, AXIS - 4);
      c.globalAlpha = 0.45;
      c.fillRect(x, AXIS, 1, height - AXIS);
      c.globalAlpha = 1;
    }
    c.fillStyle = paint.quiet;
    c.fillText(unit, view.indent, 9);
    if (run.clock) c.fillText("time", view.indent, 21);
    c.fillStyle = paint.line;
    c.fillRect(0, AXIS - 1, width, 1);
  }

  function time(cycles) {
    const seconds = cycles / run.clock;
    for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
      if (seconds >= scale) return +(seconds / scale).toPrecision(5) + " " + unit;
    }
    return Math.round(seconds * 1e9) + " ns";
  }

  // The overview: how many of the parts work and wait, over the whole run.

  let profile = null;
  function makeProfile(bins) {
    const busy = new Float64Array(bins), wait = new Float64Array(bins), size = whole / bins;
    const add = (from, to, phase, weight) => {
      const into = isWait(phase) ? wait : busy;
      for (let b = Math.floor(from / size); b < bins && b * size < to; b++) {
        into[b] += weight * (Math.min(to, (b + 1) * size) - Math.max(from, b * size)) / size;
      }
    };
    let parts = 0;
    for (const track of run.tracks) {
      if (track.kind === "lock" || track.kind === "controller") continue;
      parts++;
      if (track.count) for (let i = 0; i < track.count; i++) add(track.start[i], track.end[i], track.phase[i], 1);
      else if (track.bins) addBins(track, add);
    }
    return { busy, wait, parts: Math.max(parts, 1), bins };
  }

  function addBins(track, add) {
    const kinds = track.phases.length;
    for (let i = 0; i < track.bins.length; i++) {
      const from = Math.floor(i / kinds) * run.binCycles;
      if (track.bins[i]) add(from, Math.min(from + run.binCycles, whole), track.phases[i % kinds], track.bins[i] / 255);
    }
  }

  function drawOverview() {
    const width = overview.clientWidth, height = overview.clientHeight;
    const c = prepare(overview, width, height), plot = plotWidth();
    profile ??= makeProfile(300);
    for (let b = 0; b < profile.bins; b++) {
      const x = view.gutter + b / profile.bins * plot, wide = plot / profile.bins + 0.5;
      const busy = profile.busy[b] / profile.parts * (height - 4), wait = profile.wait[b] / profile.parts * (height - 4);
      c.globalAlpha = 0.9;
      c.fillStyle = paint.phases[run.overview ?? 4];
      c.fillRect(x, height - busy, wide, busy);
      c.globalAlpha = 0.28;
      c.fillStyle = paint.quiet;
      c.fillRect(x, height - busy - wait, wide, wait);
    }
    c.globalAlpha = 1;
    c.fillStyle = paint.quiet;
    c.font = "11px " + paint.sans;
    c.textBaseline = "middle";
    c.fillText("parts at work", view.indent, height / 2);
    c.strokeStyle = paint.accent;
    c.lineWidth = 2;
    const left = view.gutter + view.from / whole * plot;
    c.strokeRect(left, 1, Math.max((view.to - view.from) / whole * plot, 3), height - 2);
  }

  function drawRange() {
    const from = Math.round(view.from), to = Math.round(view.to);
    const took = run.clock ? `, ${time(to - from)}` : "";
    rangeText.textContent = `${unit}s ${from.toLocaleString("en")} to ${to.toLocaleString("en")}${took}`;
    viewport.dataset.from = from;
    viewport.dataset.to = to;
  }

  // The chosen track as a table: the same bars, for whoever reads rather than looks.

  const MOST_BARS = 200;
  function fillBars() {
    if (!byId("bars-box").open) return;
    const track = run.tracks[view.track ?? 0], rows = [];
    for (let i = track.count ? firstSpan(track, view.from) : 0; i < (track.count ?? 0) && track.start[i] < view.to && rows.length < MOST_BARS; i++) {
      rows.push([track.start[i], track.end[i], track.end[i] - track.start[i], run.phases[track.phase[i]].label, labelOf(track, i), track.words[i] || ""]);
    }
    const name = `${run.groups[track.group]} ${track.name}`;
    const table = document.createElement("table");
    table.createCaption().textContent = track.count ? `${name}: what is in view, at most ${MOST_BARS} bars` : `${name} has no single bars to list`;
    const line = (cells, kind) => {
      const row = table.insertRow();
      cells.forEach((cell, n) => {
        const made = document.createElement(kind);
        if (n < 3 || n === 5) made.className = "number";
        made.textContent = typeof cell === "number" ? cell.toLocaleString("en") : cell;
        row.append(made);
      });
    };
    line([`from ${unit}`, `to ${unit}`, `${unit}s`, "at", "about", "words"], "th");
    rows.forEach((cells) => line(cells, "td"));
    byId("bars").replaceChildren(table);
    byId("bars").className = "scroll";
    byId("bars").tabIndex = 0;
  }

  // Files: what is in view as SVG, from the same drawing; all bars as CSV.

  class SvgContext {  // what the drawing uses of a canvas
    constructor(width, height) { Object.assign(this, { width, height, parts: [], path: "", saved: [], clips: 0, open: 0, globalAlpha: 1, lineWidth: 1, font: "12px sans-serif" }); }
    measureText(text) { const c = canvas.getContext("2d"); c.font = this.font; return c.measureText(text); }
    put(text) { this.parts.push(text); }
    fillRect(x, y, width, height) { this.put(`<rect x="${r(x)}" y="${r(y)}" width="${r(width)}" height="${r(height)}" fill="${this.fillStyle}" opacity="${this.globalAlpha}"/>`); }
    strokeRect(x, y, width, height) { this.put(`<rect x="${r(x)}" y="${r(y)}" width="${r(width)}" height="${r(height)}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`); }
    fillText(text, x, y) {
      const [, weight, size, family] = /^(\d+ )?([\d.]+px) (.*)$/.exec(this.font);
      this.put(`<text x="${r(x)}" y="${r(y)}" dominant-baseline="central" fill="${this.fillStyle}" font-size="${size}" font-weight="${weight?.trim() ?? 400}" font-family="${escaped(family)}">${escaped(text)}</text>`);
    }
    beginPath() { this.path = ""; }
    moveTo(x, y) { this.path += `M${r(x)},${r(y)}`; }
    lineTo(x, y) { this.path += `L${r(x)},${r(y)}`; }
    rect(x, y, width, height) { this.path += `M${r(x)},${r(y)}h${r(width)}v${r(height)}h${r(-width)}z`; }
    bezierCurveTo(...at) { this.path += `C${at.map(r).join(" ")}`; }
    stroke() { this.put(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" opacity="${this.globalAlpha}"/>`); }
    fill() { this.put(`<path d="${this.path}" fill="${this.fillStyle}" opacity="${this.globalAlpha}"/>`); }
    clip() { this.put(`<clipPath id="c${++this.clips}"><path d="${this.path}"/></clipPath><g clip-path="url(#c${this.clips})">`); this.open++; }
    save() { this.saved.push([this.open, this.globalAlpha]); }
    restore() {
      const [open, alpha] = this.saved.pop();
      for (; this.open > open; this.open--) this.put("</g>");
      this.globalAlpha = alpha;
    }
    text() { return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"><rect width="100%" height="100%" fill="${paint.paper}"/>${this.parts.join("")}</svg>`; }
  }
  const r = (number) => Math.round(number * 10) / 10;
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

  function timelineSvg() {
    const c = new SvgContext(view.width, Math.max(view.height, 60));
    paintTracks(c, view.width, c.height, 0);
    return c.text();
  }

  function timelineCsv() {
    const rows = [["track", `from ${unit}`, `to ${unit}`, "at", "about", "words"]];
    for (const track of run.tracks) {
      const name = track.kind === "controller" ? track.name : `${run.groups[track.group]} ${track.name}`;
      for (let i = 0; i < (track.count ?? 0); i++) {
        rows.push([name, track.start[i], track.end[i], run.phases[track.phase[i]].label, labelOf(track, i), track.words[i]]);
      }
      for (let i = 0; i < (track.steps?.length ?? 0); i += 2) rows.push([name, track.steps[i], "", "lock value", track.steps[i + 1], ""]);
    }
    return window.tilewrightTools.csv(rows);
  }
  Object.assign(window.tilewright, { timelineSvg, timelineCsv });

  // What a bar is about.

  function labelOf(track, i) {
    const about = track.about?.[track.phase[i] + ":" + track.detail[i]];
    if (track.kind === "controller") return (run.steps[track.detail[i]] ?? "operation " + track.detail[i]);
    return about ?? run.phases[track.phase[i]].label;
  }

  function describe(number, i) {
    const track = run.tracks[number], from = track.start[i], cycles = track.end[i] - from;
    const where = track.kind === "controller" ? "controller" : `${run.groups[track.group]} ${track.name}`;
    const parts = [`${where} ${run.phases[track.phase[i]].label}`, labelOf(track, i)];
    const took = run.clock ? `, ${time(cycles)}` : "";
    parts.push(`${unit}s ${from.toLocaleString("en")} to ${track.end[i].toLocaleString("en")}: ${cycles.toLocaleString("en")} ${unit}s${took}`);
    if (track.words[i]) parts.push(`${track.words[i].toLocaleString("en")} words, ${(track.words[i] / cycles).toFixed(2)} per cycle`);
    const task = run.tasks.find((t) => t[0] === number && t[2] !== null && t[2] <= from && from < (t[3] ?? whole));
    const step = track.kind === "controller" ? track.detail[i] : task?.[5];
    if (task) parts.push(`pushed in cycle ${task[1].toLocaleString("en")} by operation ${step}`);
    if (run.places[step]) parts.push(run.places[step]);
    return parts.filter((part, n) => n !== 1 || part !== run.phases[track.phase[i]].label).join(" · ");
  }

  function describeBin(number, cycle) {
    const track = run.tracks[number], kinds = track.phases.length, bin = Math.floor(cycle / run.binCycles);
    const shares = track.phases.map((phase, k) => `${run.phases[phase].label} ${Math.round(track.bins[bin * kinds + k] / 2.55)} %`);
    return `${run.groups[track.group]} ${track.name} · about cycle ${Math.round(cycle).toLocaleString("en")}: ${shares.join(", ")}`;
  }

  function describeLock(number, cycle) {
    const { steps, group, name } = run.tracks[number];
    let value = "?";
    for (let i = 0; i < steps.length && steps[i] <= cycle; i += 2) value = steps[i + 1];
    return `${run.groups[group]} ${name} · ${value} in cycle ${Math.round(cycle).toLocaleString("en")}`;
  }

  function select(number, span, quiet) {
    view.track = number;
    view.span = span;
    const track = number === null ? null : run.tracks[number];
    if (track && span !== null && track.count) selection.textContent = describe(number, span);
    else if (track && !quiet) selection.textContent = `${run.groups[track.group]} ${track.name}`;
    draw();
  }

  function rowAt(y) {
    return view.rows.find((row) => row.track && y >= row.y && y < row.y + row.height);
  }

  function textAt(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const row = y > AXIS && x > view.gutter ? rowAt(y + viewport.scrollTop) : null;
    if (!row) return null;
    const cycle = cycleAt(x), track = row.track;
    if (track.steps) return { row, text: describeLock(row.number, cycle) };
    if (track.bins) return { row, text: describeBin(row.number, cycle) };
    const span = firstSpan(track, cycle);
    if (span >= track.count || track.start[span] > cycle + 2 * (view.to - view.from) / plotWidth()) return { row, span: null, text: null };
    return { row, span, text: describe(row.number, span) };
  }

  // Hands: pointer, wheel, keys, buttons.

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: view.from, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const by = event.clientX - drag.x;
      if (Math.abs(by) > 3) { drag.moved = true; canvas.classList.add("dragging"); }
      if (drag.moved) show(drag.from - by / plotWidth() * (view.to - view.from), drag.from - by / plotWidth() * (view.to - view.from) + (view.to - view.from));
      return;
    }
    const found = textAt(event);
    tip.hidden = !found?.text;
    if (found?.text) {
      tip.textContent = found.text.replaceAll(" · ", "\n");
      tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 12) + "px";
      tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const found = textAt(event);
      if (found) {
        select(found.row.number, found.span ?? null, true);
        if (found.text) selection.textContent = found.text;
      }
    }
    drag = null;
    canvas.classList.remove("dragging");
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", (event) => zoom(ZOOM * ZOOM, cycleAt(event.clientX - canvas.getBoundingClientRect().left)));
  viewport.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), cycleAt(event.clientX - canvas.getBoundingClientRect().left));
    } else if (event.deltaX || event.shiftKey) {
      event.preventDefault();
      pan((event.deltaX || event.deltaY) / plotWidth());
    }
  }, { passive: false });
  viewport.addEventListener("scroll", draw);

  function seek(event) {
    const cycle = (event.offsetX - view.gutter) / plotWidth() * whole, half = (view.to - view.from) / 2;
    show(cycle - half, cycle + half);
  }
  overview.addEventListener("pointerdown", (event) => { overview.setPointerCapture(event.pointerId); seek(event); });
  overview.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });

  function stepTrack(by) {
    const rows = view.rows.filter((row) => row.track);
    const at = rows.findIndex((row) => row.number === view.track);
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!next) return;
    const first = next.track.count ? Math.min(firstSpan(next.track, view.from), next.track.count - 1) : null;
    select(next.number, first);
    if (next.y - AXIS < viewport.scrollTop) viewport.scrollTop = next.y - AXIS - HEADER;
    if (next.y + next.height > viewport.scrollTop + viewport.clientHeight) viewport.scrollTop = next.y + next.height - viewport.clientHeight;
  }

  function stepSpan(by) {
    const track = run.tracks[view.track];
    if (!track?.count) return;
    const next = Math.min(Math.max((view.span ?? -1) + by, 0), track.count - 1), length = view.to - view.from;
    select(view.track, next);
    if (track.start[next] < view.from || track.start[next] > view.to) show(track.start[next] - length / 3, track.start[next] + length * 2 / 3);
  }

  function goTo(number, from, to) {
    if (run.tracks[number].kind === "lock") byId("show-locks").checked = true;
    byId("filter").value = "";
    layout();
    const track = run.tracks[number], row = view.rows.find((r) => r.number === number), margin = (to - from) * 0.6 + LEAST;
    select(number, track.count ? firstSpan(track, from) : null);
    show(from - margin, to + margin);
    viewport.scrollTop = Math.max(row.y - viewport.clientHeight / 2, 0);
    byId("timeline").scrollIntoView({ block: "start" });
    viewport.focus({ preventScroll: true });
  }

  function zoomToSpan() {
    const track = run.tracks[view.track];
    if (track?.count && view.span !== null) {
      const margin = (track.end[view.span] - track.start[view.span]) * 0.3 + 2;
      show(track.start[view.span] - margin, track.end[view.span] + margin);
    }
  }

  const actions = {
    in: () => zoom(ZOOM), out: () => zoom(1 / ZOOM), fit: () => show(0, whole), left: () => pan(-STEP), right: () => pan(STEP),
    svg: () => window.tilewrightTools.save("timeline.svg", timelineSvg(), "image/svg+xml"),
    csv: () => window.tilewrightTools.save("timeline.csv", timelineCsv(), "text/csv"),
    up: () => stepTrack(-1), down: () => stepTrack(1), next: () => stepSpan(1), previous: () => stepSpan(-1), focus: zoomToSpan,
  };
  const keys = {
    "+": "in", "=": "in", "-": "out", _: "out", 0: "fit", Home: "fit", ArrowLeft: "left", ArrowRight: "right",
    ArrowUp: "up", ArrowDown: "down", n: "next", p: "previous", Enter: "focus",
  };
  viewport.addEventListener("keydown", (event) => {
    const action = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[action]();
  });
  document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", actions[button.dataset.do]));
  document.querySelectorAll("[data-track]").forEach((button) => button.addEventListener("click", () =>
    goTo(Number(button.dataset.track), Number(button.dataset.from), Number(button.dataset.to))));
  byId("bars-box").addEventListener("toggle", draw);
  byId("show-locks").addEventListener("change", layout);
  byId("show-locks").parentElement.hidden = !run.tracks.some((track) => track.kind === "lock");
  byId("show-tasks").parentElement.hidden = !run.tasks.length;
  byId("filter").placeholder = run.hint ?? byId("filter").placeholder;
  byId("show-tasks").addEventListener("change", draw);
  byId("filter").addEventListener("input", layout);

  function chooseTile(tile) {
    document.querySelectorAll(".tile.chosen").forEach((other) => other.classList.remove("chosen"));
    tile.classList.add("chosen");
    const number = run.tracks.findIndex((track) => String(track.tile) === tile.dataset.tile);
    if (number < 0) {
      selection.textContent = "Nothing happened on this tile.";
      return;
    }
    goTo(number, view.from, view.to);
    show(0, whole);
  }
  document.querySelectorAll(".tile").forEach((tile) => {
    tile.addEventListener("click", () => chooseTile(tile));
    tile.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chooseTile(tile); }
    });
  });

  const repaint = () => { readColours(); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  document.addEventListener("themechange", repaint);
  new ResizeObserver(() => { measure(); draw(); }).observe(viewport);
  readColours();
  layout();
  requestAnimationFrame(() => requestAnimationFrame(() => {  // drawn: says when, in milliseconds since it was opened
    document.documentElement.dataset.ready = "yes";
    document.documentElement.dataset.opened = Math.round(performance.now());
  }));
})();
