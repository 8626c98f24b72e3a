// The page of autospmv bench --study: what papers claim beside what came out.
const state = { paper: "", verdict: "", study: "", run: 0 };
const verdicts = [
  { name: "yes", title: "holds", sign: "✓", class: "good" },
  { name: "no", title: "does not hold", sign: "✗", class: "bad" },
  { name: "not measured", title: "not measured", sign: "?", class: "open" },
  { name: "-", title: "makes no sense there", sign: "·", class: "none" },
];
const verdictOf = (name) => verdicts.find((v) => v.name === name);
const studyOf = (claim) => facts.studies.find((s) => s.name === claim.study);
const brief = (value) => !known(value) ? "–" : number(value, 3);
// Of the claims of one paper, in the order of the paper.
const shown = () => facts.claims.filter((claim) =>
  (!state.paper || claim.study === state.paper) &&
  (!state.verdict || claim.runs.some((run) => run.verdict === state.verdict)));

// ---- How many hold

const drawTally = (list) => {
  const line = 46;
  const { svg, width } = chartIn("tally", facts.runs.length * line, "Claims by verdict, for each run",
    facts.runs.map((run) => run.title).join("; "));
  facts.runs.forEach((run, i) => {
    put(svg, "text", { x: 0, y: i * line + 13 }, fitting(`${run.title}; ${run.matrices} matrices`, width));
    let from = 0;
    for (const verdict of verdicts) {
      const some = list.filter((claim) => claim.runs[i].verdict === verdict.name);
      if (some.length === 0) continue;
      const wide = width * some.length / list.length;
      const bar = put(svg, "rect", { x: from, y: i * line + 18, width: Math.max(1, wide - 2), height: 20, rx: 2,
        class: "bar " + verdict.class });
      tell(bar, `${run.title}: ${some.length} of ${list.length}: ${verdict.title}\n` +
        some.slice(0, 8).map((claim) => "– " + claim.claim).join("\n") + (some.length > 8 ? "\n…" : ""));
      if (wide > 30) {
        put(svg, "text", { x: from + 6, y: i * line + 32, class: "on " + verdict.class }, `${verdict.sign} ${some.length}`);
      }
      from += wide;
    }
  });
};
const drawLegend = () => {
  const legend = byId("tally").querySelector(".legend");
  legend.replaceChildren();
  for (const verdict of verdicts) put(legend, "span", { class: "chip " + verdict.class }, `${verdict.sign} ${verdict.title}`);
};

// ---- Claim by claim

const drawVerdicts = (list) => {
  const table = byId("verdicts").querySelector("table");
  table.replaceChildren();
  const head = put(put(table, "thead"), "tr");
  for (const title of ["claim", "paper"]) put(head, "th", { scope: "col", class: "left" }, title);
  for (const run of facts.runs) put(head, "th", { scope: "col", class: "verdict", title: run.title }, run.title);
  const body = put(table, "tbody");
  for (const claim of list) {
    const row = put(body, "tr");
    const button = put(put(row, "td"), "button", { type: "button", title: claim.claim }, claim.claim);
    button.addEventListener("click", () => {
      const card = byId("claim" + claim.id);
      card.scrollIntoView({ block: "start" });
      card.focus({ preventScroll: true });
    });
    put(row, "td", { class: "left" }, studyOf(claim).short_paper);
    for (const run of claim.runs) {
      const verdict = verdictOf(run.verdict);
      const cell = put(row, "td", { class: "verdict" });
      put(cell, "span", { class: "chip " + verdict.class, "aria-label": verdict.title, title: valuesOf(claim, run) }, verdict.sign);
    }
  }
};
const valuesOf = (claim, run) =>
  claim.quantities.map((quantity, i) => `${quantity.quantity}: ${brief(run.values[i])}`).join("\n");

// ---- A claim beside what came out

const boundsOf = (quantity, type) => ({
  least: quantity.least ? quantity.least[type] : null,
  most: quantity.most ? quantity.most[type] : null,
});
const textOfBound = (sign, bound) => !bound ? "" :
  ` ${sign} ${brief(bound.double)}${bound.double === bound.float ? "" : ` (float ${brief(bound.float)})`}`;
const isBound = (bound) => known(bound.least) || known(bound.most);
const isWithin = (value, bound) => !(known(bound.least) && value < bound.least) && !(known(bound.most) && value > bound.most);

// Across what is claimed and measured, with room at both ends; logarithmic where it is far from one end to the other.
const scaleOf = (values, from, to) => {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (low > 0 && high / low > 6) return logScale(low / 1.4, high * 1.4, from, to);
  const room = Math.max((high - low) * 0.12, Math.abs(high) * 0.05, 1e-6);
  const begin = low >= 0 && low < 0.5 * high ? 0 : low - room;
  return (value) => from + (to - from) * (value - begin) / (high + room - begin);
};

// One row a run: the shaded part of the strip is what the paper claims, the mark what was measured.
const drawQuantity = (place, claim, index) => {
  const quantity = claim.quantities[index];
  const rows = claim.runs.map((run, i) => ({ run, title: facts.runs[i].title, value: run.values[index],
    bound: boundsOf(quantity, run.value_type) })).filter((row) => known(row.value));
  put(place, "p", { class: "quantity" }, quantity.quantity + textOfBound("≥", quantity.least) + textOfBound("≤", quantity.most));
  if (rows.length === 0) return put(place, "p", {}, "not measured");
  const line = 24;
  const { svg, width } = chartIn(put(place, "div", { class: "chart" }), rows.length * line + 2, quantity.quantity,
    rows.map((row) => `${row.title}: ${brief(row.value)}`).join("; "));
  const left = Math.min(165, 0.42 * width);
  const right = width - 62;
  const x = scaleOf(rows.flatMap((row) => [row.value, row.bound.least, row.bound.most].filter(known)), left + 6, right - 6);
  rows.forEach((row, i) => {
    const y = i * line + 1;
    put(svg, "rect", { x: left, y: y + 3, width: right - left, height: line - 6, rx: 2, class: "strip" });
    const bounded = isBound(row.bound);
    if (bounded) {
      const from = known(row.bound.least) ? x(row.bound.least) : left;
      const to = known(row.bound.most) ? x(row.bound.most) : right;
      put(svg, "rect", { x: from, y: y + 3, width: Math.max(1, to - from), height: line - 6, class: "claimed" });
      for (const edge of [row.bound.least, row.bound.most].filter(known)) {
        put(svg, "line", { x1: x(edge), x2: x(edge), y1: y + 1, y2: y + line - 1, class: "floor" });
      }
    }
    const within = bounded && isWithin(row.value, row.bound);
    const kind = !bounded ? "open" : within ? "good" : "bad";
    put(svg, "text", { x: 0, y: y + 16, class: "faint" }, fitting(row.title, left));
    const mark = put(svg, "path", { d: shapes[bounded ? within ? 0 : 3 : 1](6), class: "mark " + kind,
      transform: `translate(${x(row.value).toFixed(1)},${y + line / 2})` });
    tell(mark, `${row.title}\n${quantity.quantity}: ${brief(row.value)}\n` +
      (bounded ? `claimed:${textOfBound("≥", quantity.least)}${textOfBound("≤", quantity.most)}` : "shown beside it, and decides nothing"));
    put(svg, "text", { x: right + 8, y: y + 16 }, `${brief(row.value)}${bounded ? within ? " ✓" : " ✗" : ""}`);
  });
};
const drawClaim = (place, claim) => {
  const card = put(place, "section", { id: "claim" + claim.id, class: "claim", tabindex: -1 });
  put(card, "h3", {}, claim.claim);
  const line = put(card, "p", {}, claim.place ? `section ${claim.place} ` : "");
  claim.runs.forEach((run, i) => {
    const verdict = verdictOf(run.verdict);
    put(line, "span", { class: "chip " + verdict.class, title: facts.runs[i].title }, `${verdict.sign} ${facts.runs[i].title}`);
  });
  claim.quantities.forEach((_, index) => drawQuantity(card, claim, index));
  if (claim.why_not) put(card, "p", {}, "Why not: " + claim.why_not);
};
const drawPapers = (list) => {
  const place = byId("papers");
  place.replaceChildren();
  for (const study of facts.studies) {
    const claims = list.filter((claim) => claim.study === study.name);
    if (claims.length === 0) continue;
    put(place, "h2", {}, study.short_paper);
    put(place, "p", {}, study.paper + ". The shaded part of a strip is what the paper claims, the mark what was measured.");
    const grid = put(place, "div", { class: "claims" });
    for (const claim of claims) drawClaim(grid, claim);
  }
};

// ---- The formats of a paper

const drawFormats = () => {
  const study = facts.studies.find((s) => s.name === state.study);
  const matrices = facts.matrices.filter((m) => m.study === state.study && m.run === state.run)
    .sort((a, b) => a.mean_row - b.mean_row);
  const table = byId("formats").querySelector("table");
  table.replaceChildren();
  if (matrices.length === 0) {
    said("formats", "");
    return nothing("formats", "Nothing was measured for this paper there.");
  }
  said("formats", `${study.paper}. Each format's time over that of the fastest one, in geometric mean over the matrices that it takes; ` +
    `bytes are counted as ${study.byte_count}.`);
  const bars = study.contenders.map((contender, i) => {
    const over = matrices.filter((m) => known(m.us[i])).map((m) => m.us[i] / Math.min(...m.us.filter(known)));
    return { ...contender, over: over.length > 0 ? geometricMean(over) : null, on: over.length,
      first: matrices.filter((m) => m.fastest === i).length };
  });
  const line = 40;
  const { svg, width } = chartIn("formats", bars.length * line + 4, "Formats by their time over the fastest",
    bars.map((bar) => `${bar.name}: ${brief(bar.over)}`).join("; "));
  const most = Math.max(1, ...bars.map((bar) => bar.over).filter(known));
  bars.forEach((bar, i) => {
    const y = i * line;
    put(svg, "text", { x: 0, y: y + 13 }, fitting(`${bar.name}${bar.role === "own" || bar.role === "tuned" ? " (the paper's)" : ""}; ` +
      (bar.on > 0 ? `${number(bar.over)} times the fastest; fastest on ${bar.first} of ${bar.on}` : "no time"), width));
    if (!known(bar.over)) return;
    const box = put(svg, "rect", { x: 0, y: y + 18, width: Math.max(2, (width - 8) * bar.over / most), height: 14, rx: 2,
      class: "bar " + (bar.role === "own" ? "chosen" : bar.role === "tuned" ? "" : "behind") });
    tell(box, `${bar.name}\n${number(bar.over)} times the time of the fastest, over ${bar.on} matrices\nfastest on ${bar.first}`);
  });
  const head = put(put(table, "thead"), "tr");
  for (const title of ["matrix", "nonzeros", "a row", ...study.contenders.map((c) => c.name + ", µs")]) put(head, "th", { scope: "col" }, title);
  const body = put(table, "tbody");
  for (const m of matrices) {
    const row = put(body, "tr");
    put(row, "td", {}, m.name);
    put(row, "td", {}, m.nonzeros.toLocaleString("en"));
    put(row, "td", {}, number(m.mean_row));
    m.us.forEach((us, i) => {
      put(row, "td", { class: m.fastest === i ? "best" : "", title: m.said[i] }, known(us) ? number(us, 4) : "–");
    });
  }
};

// ---- All of it

const draw = () => {
  const list = shown();
  byId("count").textContent = `${list.length} of ${facts.claims.length} claims shown`;
  drawTally(list);
  drawVerdicts(list);
  drawPapers(list);
  drawFormats();
};
const fill = (id, options, take) => {
  for (const [value, text] of options) put(byId(id), "option", { value }, text);
  byId(id).addEventListener("change", (event) => { take(event.target.value); hideTip(); });
};

facts.claims.forEach((claim, i) => { claim.id = i; });
byId("about").textContent = facts.moment;
byId("command").textContent = facts.command;
tile("claims", String(facts.claims.length), `of ${facts.studies.length} paper${facts.studies.length === 1 ? "" : "s"}`);
facts.runs.forEach((run, i) => {
  const count = (name) => facts.claims.filter((claim) => claim.runs[i].verdict === name).length;
  tile(run.title, `${count("yes")} of ${count("yes") + count("no")}`, `hold; ${run.device}, ${run.matrices} matrices`);
});
fill("paper", [["", "all papers"], ...facts.studies.map((s) => [s.name, s.short_paper])], (value) => { state.paper = value; draw(); });
fill("verdict", [["", "all"], ...verdicts.map((v) => [v.name, v.title])], (value) => { state.verdict = value; draw(); });
fill("study", facts.studies.map((s) => [s.name, s.short_paper]), (value) => { state.study = value; drawFormats(); });
fill("run", facts.runs.map((run, i) => [i, run.title]), (value) => { state.run = Number(value); drawFormats(); });
state.study = facts.studies[0].name;
drawLegend();
start(draw);
