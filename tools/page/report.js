// The page of autospmv report.
const state = { device: "", type: "", search: "", format: "", matrix: null, sort: "speedup", descending: true };
const colours = 8;
const shown = () => facts.matrices.filter((m) =>
  (!state.device || m.device === state.device) && (!state.type || m.type === state.type) &&
  (!state.search || m.name.toLowerCase().includes(state.search)));

// ---- Winners by format

const countBy = (list, key) => {
  const counts = new Map();
  for (const one of list) counts.set(key(one), (counts.get(key(one)) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
};
// The same in every view of the page.
const rankOf = new Map(countBy(facts.matrices.filter((m) => m.winner), (m) => m.winner.format)
  .map(([format], i) => [format, Math.min(i, colours - 1)]));

const describe = (m) => [
  m.name, `${sizesOf(m)}, ${m.type}`,
  m.winner ? `${m.winner.text}: ${seconds(m.winner.us)}` : "no candidate passed",
  known(m.speedup) ? `${number(m.speedup)} times as fast as ${m.baseline.text}` : "no baseline was tried",
  m.device].join("\n");

const drawWinners = (list) => {
  const points = list.filter((m) => m.winner && known(m.npr_mean));
  const legend = byId("winners").querySelector(".legend");
  legend.replaceChildren();
  if (points.length === 0) return nothing("winners", "No matrix with known features is shown.");
  for (const [format, count] of countBy(points, (m) => m.winner.format)) {
    const button = put(legend, "button", { type: "button", "aria-pressed": String(state.format === format) });
    const icon = put(button, "svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" });
    put(icon, "path", { d: shapes[rankOf.get(format)](5), fill: `var(--c${rankOf.get(format)})` });
    put(button, "span", {}, `${format} ${count}`);
    button.addEventListener("click", () => {
      state.format = state.format === format ? "" : format;
      draw();
    });
  }
  const { svg, width, height } = chartIn("winners", 380, "The winning format of each matrix",
    "Nonzeros a row to the right, their coefficient of variation upwards, both logarithmic; the colour and the shape are the format.");
  const least = 0.01;
  const spread = (m) => Math.max(least, m.npr_spread);
  const x = logScale(...range(points.map((m) => Math.max(m.npr_mean, 0.1))), 48, width - 12);
  const [low, high] = range(points.map(spread));
  const y = logScale(low, high, height - 46, 26);
  axisX(svg, x, ticksOf(...range(points.map((m) => Math.max(m.npr_mean, 0.1))), 4), 26, height - 46,
    "mean nonzeros a row", width / 2);
  axisY(svg, y, ticksOf(low, high, 4), 48, width - 12, "spread of the rows' lengths; standard deviation / mean; 0.01 is none");
  const group = put(svg, "g", { tabindex: 0, role: "listbox", "aria-label": "Matrices, by nonzeros a row" });
  const sorted = [...points].sort((a, b) => a.npr_mean - b.npr_mean);
  const marks = sorted.map((m) => {
    const rank = rankOf.get(m.winner.format);
    const dim = state.format && state.format !== m.winner.format;
    const mark = put(group, "path", { d: shapes[rank](6), fill: `var(--c${rank})`, role: "option", "fill-opacity": 0.85,
      transform: `translate(${x(Math.max(m.npr_mean, 0.1)).toFixed(1)},${y(spread(m)).toFixed(1)})`,
      class: "mark" + (dim ? " dim" : ""), "data-matrix": m.id });
    tell(mark, describe(m));
    mark.addEventListener("click", () => choose(m, true));
    return mark;
  });
  let at = -1;
  const go = (to) => {
    if (marks[at]) marks[at].classList.remove("at");
    at = (to + marks.length) % marks.length;
    marks[at].classList.add("at");
    const box = marks[at].getBoundingClientRect();
    showTip(describe(sorted[at]), box.right, box.bottom);
  };
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (step) {
      event.preventDefault();
      go(at < 0 && step < 0 ? marks.length - 1 : at + step);
    } else if (event.key === "Enter" && at >= 0) {
      choose(sorted[at], true);
    }
  });
  group.addEventListener("blur", hideTip);
};

// ---- Bars over classes: speed-ups, break-even, cost

const drawClasses = (section, title, classes, label, line) => {
  const { svg, width, height } = chartIn(section, 250, title, classes.map((c) => `${c.name}: ${c.matrices.length}`).join("; "));
  const most = Math.max(1, ...classes.map((c) => c.matrices.length));
  const left = 12;
  const step = (width - left - 12) / classes.length;
  const top = 30;
  const bottom = height - 46;
  classes.forEach((c, i) => {
    const tall = (bottom - top) * c.matrices.length / most;
    const bar = put(svg, "rect", { x: left + i * step + 2, width: Math.max(1, step - 4), y: bottom - tall, height: tall,
      rx: 2, class: "bar " + (c.class || "") });
    const names = c.matrices.slice(0, 12).map((m) => m.name).join("\n");
    tell(bar, `${c.name}: ${c.matrices.length}\n${names}${c.matrices.length > 12 ? "\n…" : ""}`);
    if (c.matrices.length > 0) {
      put(svg, "text", { x: left + (i + 0.5) * step, y: bottom - tall - 5, "text-anchor": "middle" }, c.matrices.length);
    }
    const every = Math.ceil(Math.max(...classes.map((one) => one.short.length)) * 7.2 / step);
    if (i % every === 0) {
      put(svg, "text", { x: left + (i + (c.edge ? 0 : 0.5)) * step, y: bottom + 16, "text-anchor": "middle", class: "faint" }, c.short);
    }
  });
  put(svg, "line", { x1: left, x2: width - 12, y1: bottom, y2: bottom, class: "axis" });
  put(svg, "text", { x: width / 2, y: bottom + 36, "text-anchor": "middle" }, fitting(label, width));
  if (line) {
    const x = left + step * line.at;
    put(svg, "line", { x1: x, x2: x, y1: 8, y2: bottom, class: "mean" });
    const end = x > width * 0.6;
    put(svg, "text", { x: x + (end ? -6 : 6), y: 14, "text-anchor": end ? "end" : "start" }, line.text);
  }
};

const drawSpeedups = (list) => {
  const some = list.filter((m) => known(m.speedup));
  if (some.length === 0) {
    said("speedups", "");
    return nothing("speedups", "No matrix has both a winner and a baseline.");
  }
  const mean = geometricMean(some.map((m) => m.speedup));
  const worst = some.reduce((a, b) => a.speedup < b.speedup ? a : b);
  const best = some.reduce((a, b) => a.speedup > b.speedup ? a : b);
  const ahead = some.filter((m) => m.speedup > 1.05).length;
  said("speedups", `${number(mean)} times as fast in geometric mean; more than 5 % faster on ${ahead} of ${some.length}; ` +
    `least ${number(worst.speedup)} (${worst.name}), most ${number(best.speedup)} (${best.name}).`);
  const width = 2 ** 0.25;
  const first = Math.floor(Math.log(worst.speedup) / Math.log(width) + 1e-9);
  const last = Math.max(first + 3, Math.floor(Math.log(best.speedup) / Math.log(width) + 1e-9));
  const shownLast = Math.min(last, first + 24);
  const classes = [];
  for (let i = first; i <= shownLast; ++i) {
    const from = width ** i;
    classes.push({ name: `${number(from)} to ${number(width ** (i + 1))} times`, short: number(from, 2), edge: true,
      class: i < 0 ? "behind" : "", matrices: [] });
  }
  for (const m of some) {
    const i = Math.floor(Math.log(m.speedup) / Math.log(width) + 1e-9) - first;
    classes[Math.min(i, classes.length - 1)].matrices.push(m);
  }
  if (last > shownLast) classes[classes.length - 1].name = `more than ${number(width ** shownLast)} times`;
  drawClasses("speedups", "Matrices by the speed-up of their winner", classes, "speed-up over the baseline; the bars count matrices",
    { at: Math.log(mean) / Math.log(width) - first, text: `geometric mean ${number(mean)}` });
};

const decades = (low, high, nameOf) => {
  const classes = [];
  for (let e = low; e < high; ++e) classes.push({ name: nameOf(e), short: e < 0 ? `${10 ** e}` : number(10 ** e, 1), matrices: [] });
  return classes;
};
const drawBreakEven = (list) => {
  const some = list.filter((m) => m.winner && m.baseline);
  if (some.length === 0) return nothing("breakeven", "No matrix has both a winner and a baseline.");
  const classes = [{ name: "at once, or it is the baseline", short: "at once", matrices: [] }];
  for (let e = 0; e < 5; ++e) {
    classes.push({ name: `within ${number(10 ** (e + 1))} products`, short: `≤10${"¹²³⁴⁵"[e]}`, matrices: [] });
  }
  classes.push({ name: "later, or never", short: "later", class: "behind", matrices: [] });
  for (const m of some) {
    const calls = m.break_even;
    if (calls === null) classes[6].matrices.push(m);
    else if (calls <= 1) classes[0].matrices.push(m);
    else classes[Math.min(6, Math.max(1, Math.ceil(Math.log10(calls))))].matrices.push(m);
  }
  drawClasses("breakeven", "Matrices by the products after which the conversion has paid", classes, "products; the bars count matrices");
};
const drawCosts = (list) => {
  const some = list.filter((m) => known(m.cost_products) && m.cost_products > 0);
  const total = list.reduce((sum, m) => sum + (m.cost_us || 0), 0);
  const trials = list.reduce((sum, m) => sum + m.trials, 0);
  said("costs", `${number(trials)} trials of ${list.length} matrices; conversions and timed products took ${seconds(total)}. ` +
    "By the time of one product of the baseline:");
  if (some.length === 0) return nothing("costs", "No matrix has a baseline.");
  const low = Math.floor(Math.log10(Math.min(...some.map((m) => m.cost_products))));
  const high = Math.max(low + 2, Math.floor(Math.log10(Math.max(...some.map((m) => m.cost_products)))) + 1);
  const classes = decades(low, high, (e) => `${number(10 ** e)} to ${number(10 ** (e + 1))} products`);
  for (const m of some) classes[Math.min(classes.length - 1, Math.floor(Math.log10(m.cost_products)) - low)].matrices.push(m);
  for (const c of classes) c.edge = true;
  drawClasses("costs", "Matrices by what tuning them has cost", classes, "as many products of the baseline; the bars count matrices");
};

// ---- Horizontal bars: candidates, refusals

const drawCandidates = () => {
  const m = state.matrix;
  if (!m) {
    said("candidates", "");
    return nothing("candidates", "No matrix is shown.");
  }
  const copy = m.copy_gbs;
  said("candidates", `${m.name}: ${sizesOf(m)}, ${m.type}, on ${m.device}. ` +
    "The best candidate of each format; " + (known(copy)
      ? `the red line is what the bytes that it moves take at the copy bandwidth, ${number(copy)} GB/s: a bar that ends before it is served by caches.`
      : "the copy bandwidth of the device is not known."));
  const bars = m.candidates;
  if (bars.length === 0) return nothing("candidates", "No candidate of it passed.");
  const narrow = byId("candidates").clientWidth < 600;
  const line = narrow ? 40 : 26;
  const { svg, width } = chartIn("candidates", bars.length * line + 34, `Time of a product of ${m.name} by each format`,
    bars.map((c) => `${c.text}: ${seconds(c.us)}`).join("; "));
  const left = narrow ? 0 : 190;
  const note = narrow ? 0 : 240;
  const most = Math.max(...bars.map((c) => Math.max(c.us, c.floor_us || 0)));
  // A few slow ones must not press the others against the wall.
  const cap = Math.min(most, 6 * bars[0].us);
  const x = (us) => (width - left - note - 12) * Math.min(us, cap) / cap;
  bars.forEach((c, i) => {
    const y = i * line + (narrow ? 18 : 4);
    const chosen = m.winner && c.text === m.winner.text;
    const bar = put(svg, "rect", { x: left, y, height: 18, width: Math.max(2, x(c.us)), rx: 2,
      class: "bar " + (chosen ? "chosen" : m.baseline && c.text === m.baseline.text ? "behind" : "") });
    const share = known(c.floor_us) ? `, ${number(100 * c.floor_us / c.us, 2)} % of the copy bandwidth` : "";
    const text = `${c.text}\n${seconds(c.us)} a product (quartiles ${seconds(c.low_us)} to ${seconds(c.high_us)})\n` +
      `moves ${bytes(c.moved)}${share}\nconversion ${seconds(c.setup_us)}, ${bytes(c.bytes)} allocated`;
    tell(bar, text);
    if (known(c.floor_us) && c.floor_us <= cap) {
      put(svg, "line", { x1: left + x(c.floor_us), x2: left + x(c.floor_us), y1: y - 3, y2: y + 21, class: "floor" });
    }
    const what = `${seconds(c.us)}${c.us > cap ? " →" : ""} · ${bytes(c.moved)}${known(c.floor_us) ? ` · ${number(100 * c.floor_us / c.us, 2)} % of copy` : ""}`;
    const name = c.format + (chosen ? " (chosen)" : m.baseline && c.text === m.baseline.text ? " (baseline)" : "");
    if (narrow) {
      put(svg, "text", { x: left, y: y - 3 }, `${name}: ${seconds(c.us)}`);
    } else {
      put(svg, "text", { x: left - 8, y: y + 13, "text-anchor": "end" }, name);
      put(svg, "text", { x: width - note + 2, y: y + 13, class: "faint" }, what);
    }
  });
  put(svg, "text", { x: left, y: bars.length * line + 24, class: "faint" },
    "time of a product" + (cap < most ? `; bars end at ${seconds(cap)}` : ""));
};
const drawRefusals = (list) => {
  const counts = new Map();
  for (const m of list) {
    for (const r of m.refusals) {
      const one = counts.get(r.reason) || { count: 0, formats: new Set(), matrices: new Set() };
      one.count += r.count;
      one.formats.add(r.format);
      one.matrices.add(m.name);
      counts.set(r.reason, one);
    }
  }
  const reasons = [...counts].sort((a, b) => b[1].count - a[1].count).slice(0, 10);
  said("refusals", reasons.length === 0 ? "" : "Candidates that were refused, failed or gave a wrong answer, by the reason that is kept.");
  if (reasons.length === 0) return nothing("refusals", "None is recorded.");
  const line = 40;
  const { svg, width } = chartIn("refusals", reasons.length * line + 6, "Refusals by reason",
    reasons.map(([reason, one]) => `${reason}: ${one.count}`).join("; "));
  const most = reasons[0][1].count;
  reasons.forEach(([reason, one], i) => {
    const y = i * line + 4;
    put(svg, "text", { x: 0, y: y + 12 }, fitting(reason.replaceAll("; ", ", "), width));
    const bar = put(svg, "rect", { x: 0, y: y + 17, height: 13, width: Math.max(2, (width - 60) * one.count / most), rx: 2, class: "bar" });
    tell(bar, `${reason}\n${one.count} candidates of ${[...one.formats].join(", ")}\non ${one.matrices.size} matrices`);
    put(svg, "text", { x: Math.max(2, (width - 60) * one.count / most) + 6, y: y + 28, class: "faint" }, one.count);
  });
};

// ---- Predicted and measured

const drawPredictions = (list) => {
  const some = list.filter((m) => m.winner && known(m.predicted_us));
  if (some.length === 0) {
    said("predictions", "");
    return nothing("predictions", "There are no predictions: they take features and trials of other matrices.");
  }
  const off = some.map((m) => Math.exp(Math.abs(Math.log(m.predicted_us / m.winner.us)))).sort((a, b) => a - b);
  said("predictions", `Of the winners' times, each predicted from all other matrices. Half are within ${number(100 * (off[Math.floor(off.length / 2)] - 1), 2)} %, ` +
    `${off.filter((o) => o > 2).length} of ${some.length} are off by more than twice.`);
  const { svg, width, height } = chartIn("predictions", 300, "Predicted over measured time of the winners",
    "On the line they are equal; the band is a factor of two.");
  const [low, high] = range(some.flatMap((m) => [m.winner.us, m.predicted_us]));
  const x = logScale(low, high, 48, width - 12);
  const y = logScale(low, high, height - 46, 26);
  axisX(svg, x, ticksOf(low, high, 4), 26, height - 46, "measured, µs", width / 2);
  axisY(svg, y, ticksOf(low, high, 4), 48, width - 12, "predicted, µs");
  put(svg, "path", { d: `M${x(low)},${y(2 * low)}L${x(high / 2)},${y(high)}H${x(high)}V${y(high / 2)}L${x(2 * low)},${y(low)}H${x(low)}z`,
    fill: "var(--accent)", opacity: 0.1 });
  put(svg, "line", { x1: x(low), y1: y(low), x2: x(high), y2: y(high), class: "even" });
  for (const m of some) {
    const mark = put(svg, "path", { d: shapes[0](4.5), fill: "var(--accent)", "fill-opacity": 0.8, class: "mark",
      transform: `translate(${x(m.winner.us).toFixed(1)},${y(m.predicted_us).toFixed(1)})` });
    tell(mark, `${m.name}\n${m.winner.text}\nmeasured ${seconds(m.winner.us)}, predicted ${seconds(m.predicted_us)}`);
    mark.addEventListener("click", () => choose(m, true));
  }
};

// ---- Tables

const columns = [
  { key: "name", title: "matrix", text: (m) => m.name },
  { key: "rows", title: "rows", text: (m) => m.rows.toLocaleString("en") },
  { key: "nonzeros", title: "nonzeros", text: (m) => m.nonzeros.toLocaleString("en") },
  { key: "npr_mean", title: "a row", text: (m) => number(m.npr_mean) },
  { key: "type", title: "values", left: true, text: (m) => m.type },
  { key: "winner", title: "winner", left: true, text: (m) => m.winner ? m.winner.format : "–", full: (m) => m.winner ? m.winner.text : "", of: (m) => m.winner ? m.winner.text : "" },
  { key: "us", title: "µs", text: (m) => m.winner ? number(m.winner.us, 4) : "–", of: (m) => m.winner ? m.winner.us : NaN },
  { key: "speedup", title: "speed-up", text: (m) => number(m.speedup) },
  { key: "share", title: "% of copy", text: (m) => number(m.share, 2) },
  { key: "break_even", title: "pays after", text: (m) => m.break_even === null ? "never" : number(m.break_even), of: (m) => m.break_even === null ? Infinity : m.break_even },
  { key: "trials", title: "trials", text: (m) => m.trials },
  { key: "device", title: "device", left: true, text: (m) => m.device },
];
const valueOf = (column, m) => column.of ? column.of(m) : m[column.key];
const drawTable = (list) => {
  const table = byId("matrices").querySelector("table");
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.sort : undefined;
  table.replaceChildren();
  const head = put(put(table, "thead"), "tr");
  for (const column of columns) {
    const cell = put(head, "th", { scope: "col", class: column.left ? "left" : "" });
    if (state.sort === column.key) cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
    const button = put(cell, "button", { type: "button", "data-sort": column.key }, column.title);
    button.addEventListener("click", () => {
      state.descending = state.sort === column.key ? !state.descending : column.key !== "name";
      state.sort = column.key;
      drawTable(shown());
    });
    if (focused === column.key) button.focus();
  }
  const column = columns.find((c) => c.key === state.sort);
  // What is not known comes last, whichever way.
  const sorted = [...list].sort((a, b) => {
    const [x, y] = [valueOf(column, a), valueOf(column, b)];
    const [hasX, hasY] = [x, y].map((v) => typeof v === "string" ? v !== "" : v !== null && v !== undefined && !Number.isNaN(v));
    if (!hasX || !hasY) return hasY - hasX;
    return (x < y ? -1 : x > y ? 1 : 0) * (state.descending ? -1 : 1);
  });
  const body = put(table, "tbody");
  for (const m of sorted) {
    const row = put(body, "tr", { class: state.matrix === m ? "at" : "" });
    for (const c of columns) {
      const cell = put(row, "td", { class: c.left ? "left" : "" });
      if (c.key === "name") {
        const button = put(cell, "button", { type: "button", title: m.source || m.fingerprint }, c.text(m));
        button.addEventListener("click", () => choose(m, true));
      } else {
        cell.textContent = c.text(m);
        if (c.full) cell.title = c.full(m);
      }
    }
  }
};
const drawMachines = () => {
  const table = byId("machines").querySelector("table");
  table.replaceChildren();
  const head = put(put(table, "thead"), "tr");
  for (const title of ["device", "backend", "toolkit", "driver", "autospmv", "copy GB/s", "matrices"]) put(head, "th", { scope: "col" }, title);
  const body = put(table, "tbody");
  for (const machine of facts.machines) {
    const row = put(body, "tr");
    for (const text of [machine.device, machine.backend, machine.toolkit, machine.driver || "–", machine.library,
      number(machine.copy_gbs), machine.matrices]) put(row, "td", {}, text);
  }
};

// ---- All of it

const choose = (m, scroll) => {
  state.matrix = m;
  byId("matrix").value = m.id;
  drawCandidates();
  drawTable(shown());
  hideTip();
  if (scroll) byId("candidates").scrollIntoView({ block: "start" });
};
const draw = () => {
  const list = shown();
  const select = byId("matrix");
  select.replaceChildren();
  for (const m of [...list].sort((a, b) => a.name < b.name ? -1 : 1)) {
    put(select, "option", { value: m.id }, m.name + (facts.places.length > 1 ? ` · ${m.type} · ${m.device}` : ""));
  }
  if (!list.includes(state.matrix)) {
    // The largest of those of which much is known.
    const most = Math.max(0, ...list.map((m) => m.candidates.length));
    const rich = list.filter((m) => 2 * m.candidates.length > most);
    state.matrix = rich.reduce((a, b) => !a || b.nonzeros > a.nonzeros ? b : a, null);
  }
  if (state.matrix) select.value = state.matrix.id;
  byId("count").textContent = `${list.length} of ${facts.matrices.length} matrices shown`;
  drawWinners(list);
  drawSpeedups(list);
  drawBreakEven(list);
  drawCandidates();
  drawPredictions(list);
  drawRefusals(list);
  drawCosts(list);
  drawTable(list);
};
const fill = (id, all, values) => {
  put(byId(id), "option", { value: "" }, all);
  for (const value of values) put(byId(id), "option", { value }, value);
  byId(id).addEventListener("change", (event) => { state[id] = event.target.value; draw(); });
};

facts.matrices.forEach((m, i) => { m.id = String(i); });
byId("about").textContent = `${facts.database}, ${facts.moment}`;
byId("command").textContent = facts.command;
const withSpeedup = facts.matrices.filter((m) => known(m.speedup));
tile("matrices", String(facts.matrices.length), `${facts.places.length} device${facts.places.length === 1 ? "" : "s"} and types`);
tile("trials", facts.trials.toLocaleString("en"), facts.first ? `${facts.first.slice(0, 10)} to ${facts.last.slice(0, 10)}` : "");
if (withSpeedup.length > 0) {
  tile("speed-up", number(geometricMean(withSpeedup.map((m) => m.speedup))), "geometric mean, over the baseline");
  tile("faster than it", `${Math.round(100 * withSpeedup.filter((m) => m.speedup > 1.05).length / withSpeedup.length)} %`, "of matrices, by more than 5 %");
}
tile("formats that win", String(rankOf.size), [...rankOf.keys()].slice(0, 3).join(", "));
fill("device", "all devices", [...new Set(facts.matrices.map((m) => m.device))].sort());
fill("type", "all types", [...new Set(facts.matrices.map((m) => m.type))].sort());
byId("search").addEventListener("input", (event) => { state.search = event.target.value.toLowerCase(); draw(); });
byId("matrix").addEventListener("change", (event) => choose(facts.matrices[Number(event.target.value)], false));
drawMachines();
start(draw);
