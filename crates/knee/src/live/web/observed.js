// What observers see: per source a few charts on the time scale and with the cursor of the others. Names come from
// outside and are text (`textContent`). Calculates no figures.

import { Chart, figureAt } from "./chart.js";
import { clock, count, short } from "./number.js";

/** How the lines of a chart differ. */
const LOOKS = [
  { color: "--c1", dash: "solid" },
  { color: "--c2", dash: "dashed" },
  { color: "--c3", dash: "solid" },
  { color: "--c4", dash: "dotted" },
  { color: "--c6", dash: "dashed" },
];

const level = (value) => (Number.isInteger(value) ? count(value) : short(value));

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** The charts of all sources, within `root`. */
export class ObservedCharts {
  constructor(root, timeline) {
    Object.assign(this, { root, timeline, keys: [], shape: "" });
  }

  get isEmpty() {
    return this.root.childElementCount === 0;
  }

  /** Shows what the program says: `null` if nothing is observed. Keeps the elements as long as only figures change. */
  show(observed) {
    const shape = JSON.stringify(observed, (key, value) => (key === "points" ? undefined : value));
    const lines = observed?.sources.flatMap((source) => source.charts.flatMap((chart) => chart.lines)) ?? [];
    if (shape === this.shape) {
      this.keys.forEach(({ line }, place) => (line.points = lines[place].points));
      return;
    }
    this.shape = shape;
    this.keys = [];
    const charts = [];
    const sources = observed?.sources.map((source) => this.source(source, charts)) ?? [];
    const lost = observed?.is_broken
      ? [element("p", "Figures of observers were lost on the way to this page. The saved run has them.", "note")]
      : [];
    this.root.replaceChildren(...lost, ...sources.flat());
    this.timeline.put(charts);
  }

  source({ name, version, trouble, lost_at_s: lostAt, charts: courses }, charts) {
    const head = element("h3", "");
    head.append(element("bdi", name), version ? `, ${version}` : "");
    const made = [head];
    if (trouble) made.push(element("p", `${lostAt === null ? "Not read" : `Lost at ${clock(lostAt)}`}: ${trouble}`, "note"));
    if (!trouble && courses.length === 0) made.push(element("p", "Nothing to show yet.", "note"));
    return [...made, ...courses.map((course) => this.chart(name, course, charts))];
  }

  chart(source, { title, unit, lines, left_out: leftOut }, charts) {
    const series = lines.map((line, place) => ({ ...line, ...LOOKS[place] }));
    const caption = document.createElement("figcaption");
    const legend = element("span", "", "legend");
    for (const line of series) legend.append(this.key(line));
    if (leftOut > 0) legend.append(element("span", `${count(leftOut)} more in the result`));
    caption.append(element("strong", `${title}, ${unit}`), " ", legend);
    const canvas = document.createElement("canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${source}: ${title} over time, ${unit}`);
    charts.push(new Chart(canvas, { series, unit: level }));
    const figure = document.createElement("figure");
    figure.append(caption, canvas);
    return figure;
  }

  key(line) {
    const key = element("span", "", "key");
    const swatch = element("span", "", `swatch ${line.dash}`);
    swatch.style.borderTopColor = `var(${line.color})`;
    swatch.setAttribute("aria-hidden", "true");
    const value = element("span", "");
    key.append(swatch, element("bdi", line.name), value);
    this.keys.push({ line, value });
    return key;
  }

  /** Writes the figures at the cursor beside the names. */
  read(row) {
    for (const { line, value } of this.keys) {
      const found = row ? figureAt(line, row) : null;
      value.textContent = found === null ? "" : ` ${short(found)}`;
    }
  }
}
