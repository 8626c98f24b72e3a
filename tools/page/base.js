// What every page draws with; page.html runs it and the page's own script as one. Texts of a database go through
// textContent alone: they may hold anything.
const facts = JSON.parse(document.getElementById("facts").textContent);
const byId = (id) => document.getElementById(id);

// ---- Small helpers

const make = (tag, attributes = {}, text) => {
  const inSvg = ["svg", "g", "rect", "circle", "path", "line", "text", "title", "desc"].includes(tag);
  const element = inSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};
const put = (parent, tag, attributes, text) => parent.appendChild(make(tag, attributes, text));
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
const number = (value, digits = 3) => {
  if (!known(value)) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-2)) return value.toExponential(1).replace("e+", "e");
  return Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(Math.abs(value) + 1))))).toLocaleString("en");
};
const seconds = (us) => !known(us) ? "–" : us < 1e3 ? number(us) + " µs" : us < 1e6 ? number(us / 1e3) + " ms" : number(us / 1e6) + " s";
const bytes = (b) => !known(b) ? "–" : b < 1e3 ? b + " B" : b < 1e6 ? number(b / 1e3) + " KB" : b < 1e9 ? number(b / 1e6) + " MB" : number(b / 1e9) + " GB";
const sizesOf = (m) => `${m.rows.toLocaleString("en")} × ${m.columns.toLocaleString("en")}, ${m.nonzeros.toLocaleString("en")} nonzeros`;
const geometricMean = (values) => Math.exp(values.reduce((sum, v) => sum + Math.log(v), 0) / values.length);

// ---- The tip at the pointer, or at what has the focus

const tip = byId("tip");
const showTip = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 16) + "px";
};
const hideTip = () => { tip.hidden = true; };
const tell = (element, text) => {
  element.addEventListener("pointermove", (event) => showTip(text, event.clientX, event.clientY));
  element.addEventListener("pointerleave", hideTip);
  put(element, "title", {}, text);
};

// ---- Axes

// As much of a label as there is room for: what is most needed stands first.
const fitting = (label, width) => {
  const parts = label.split("; ");
  while (parts.length > 1 && parts.join("; ").length * 6.6 > width) parts.pop();
  const letters = Math.floor(width / 6.6);
  const text = parts.join("; ");
  return text.length > letters ? text.slice(0, letters - 1) + "…" : text;
};

// In a section of this id, or in an element.
const chartIn = (where, height, title, description) => {
  const place = typeof where === "string" ? byId(where).querySelector(".chart") : where;
  place.replaceChildren();
  const width = Math.max(260, place.clientWidth);
  const svg = put(place, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  put(svg, "title", {}, title);
  put(svg, "desc", {}, description);
  return { svg, width, height };
};
const logScale = (low, high, from, to) => {
  const a = Math.log(low);
  const b = Math.log(high);
  return (value) => from + (to - from) * (Math.log(value) - a) / (b - a || 1);
};
const ticksOf = (low, high, most) => {
  const ticks = [];
  const decades = Math.log10(high / low);
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
    for (const m of decades > most ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 3, 5, 7]) {
      const tick = m * 10 ** e;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(Number(tick.toPrecision(1)));
    }
  }
  const each = Math.ceil(ticks.length / (2 * most));
  return ticks.filter((_, i) => i % each === 0);
};
const axisX = (svg, scale, ticks, top, bottom, label, middle) => {
  for (const tick of ticks) {
    put(svg, "line", { x1: scale(tick), x2: scale(tick), y1: top, y2: bottom, class: "grid" });
    put(svg, "text", { x: scale(tick), y: bottom + 16, "text-anchor": "middle", class: "faint" }, number(tick, 1));
  }
  put(svg, "text", { x: middle, y: bottom + 34, "text-anchor": "middle" }, fitting(label, 2 * middle));
};
const axisY = (svg, scale, ticks, left, right, label) => {
  for (const tick of ticks) {
    put(svg, "line", { x1: left, x2: right, y1: scale(tick), y2: scale(tick), class: "grid" });
    put(svg, "text", { x: left - 6, y: scale(tick) + 4, "text-anchor": "end", class: "faint" }, number(tick, 1));
  }
  put(svg, "text", { x: 0, y: 12 }, fitting(label, right));
};
const range = (values) => {
  const low = Math.min(...values);
  const high = Math.max(...values);
  return [low / 1.25, Math.max(high, low * 1.5) * 1.25];
};
const nothing = (section, why) => {
  const place = byId(section).querySelector(".chart");
  place.replaceChildren(make("p", {}, why));
};

// ---- Marks

// A colour has a shape of its own too, for those who do not tell them apart.
const shapes = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0,${-1.25 * r}L${1.2 * r},${r}H${-1.2 * r}z`,
  (r) => `M0,${-1.35 * r}L${1.35 * r},0L0,${1.35 * r}L${-1.35 * r},0z`,
  (r) => `M0,${1.25 * r}L${1.2 * r},${-r}H${-1.2 * r}z`,
  (r) => `M${-r},${-r / 2.4}h${r - r / 2.4}v${-r + r / 2.4}h${r / 1.2}v${r - r / 2.4}h${r - r / 2.4}v${r / 1.2}h${-r + r / 2.4}v${r - r / 2.4}h${-r / 1.2}v${-r + r / 2.4}h${-r + r / 2.4}z`,
  (r) => `M${-r},${-r / 2}h${2 * r}v${r}h${-2 * r}z`,
  (r) => `M${-0.7 * r},0a${0.7 * r},${0.7 * r} 0 1,0 ${1.4 * r},0a${0.7 * r},${0.7 * r} 0 1,0 ${-1.4 * r},0`,
];
const said = (section, text) => { byId(section).querySelector(".said").textContent = text; };

// ---- The page as a whole

const tile = (title, value, note) => {
  const place = put(byId("totals"), "div");
  put(place, "dt", {}, title);
  const shownValue = put(place, "dd", {}, value);
  if (note) put(shownValue, "small", {}, note);
};
const setTheme = (dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(dark));
};
// Draws it, and again whenever its width changes.
const start = (draw) => {
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  draw();
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
  addEventListener("beforeprint", () => draw());
  addEventListener("scroll", hideTip, { passive: true });
};
