// Line charts over time on a canvas: lines, gaps, a shaded warm-up, marked losses, a cursor for pointer and keys.
// Charts of one timeline share their time scale and their cursor. Draws what it gets and calculates no figures.

import { clock } from "./number.js";

const LEFT = 68;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;
const DASHES = { solid: [], dashed: [6, 4], dotted: [1.5, 3.5] };

/** All charts of the page: one time scale, one cursor. */
export class Timeline {
  constructor(charts, moved) {
    this.charts = charts;
    this.moved = moved;
    this.rows = [];
    this.warmUp = 0;
    this.cursor = null;
    this.planned = false;
    for (const chart of charts) this.listen(chart.canvas);
    this.first = charts.length;
    const redraw = () => this.draw();
    new ResizeObserver(redraw).observe(charts[0].canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    matchMedia("(forced-colors: active)").addEventListener("change", redraw);
  }

  /** Shows these moments, objects in the order of time. */
  show(rows, warmUp) {
    this.rows = rows;
    this.warmUp = warmUp;
    if (this.cursor !== null && this.cursor >= rows.length) this.cursor = rows.length - 1;
    if (rows.length === 0) this.cursor = null;
    this.draw();
  }

  /** The charts beside those that it began with, instead of earlier ones. */
  put(more) {
    this.charts = [...this.charts.slice(0, this.first), ...more];
    for (const chart of more) this.listen(chart.canvas);
    this.draw();
  }

  draw() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      for (const chart of this.charts) chart.draw(this.rows, this.warmUp, this.cursor);
    });
  }

  move(cursor) {
    this.cursor = cursor === null ? null : Math.max(0, Math.min(this.rows.length - 1, cursor));
    this.draw();
    this.moved(this.cursor === null ? null : this.rows[this.cursor]);
  }

  listen(canvas) {
    canvas.addEventListener("keydown", (event) => {
      if (this.rows.length === 0) return;
      const at = this.cursor ?? this.rows.length;
      const step = event.shiftKey ? 10 : 1;
      const to = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: this.rows.length - 1, Escape: null }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.move(to);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.rows.length === 0) return;
      const box = canvas.getBoundingClientRect();
      const end = this.rows.at(-1).to_s;
      const second = ((event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT)) * end;
      const found = this.rows.findIndex((row) => row.to_s >= second);
      this.move(found < 0 ? this.rows.length - 1 : found);
    });
    canvas.addEventListener("pointerleave", () => this.move(null));
  }
}

/** The middle of a moment. */
const middle = (row) => (row.from_s + row.to_s) / 2;

/** The figures of a line with their times: its own, or those of the moments. */
const figures = (line, rows) => line.points ?? rows.map((row) => [middle(row), line.value(row)]);

/** The figure of a line in the middle of a moment: of a line with times of its own, the last one until then. */
export function figureAt(line, row) {
  if (!line.points) return line.value(row);
  const after = line.points.findIndex(([at]) => at > middle(row));
  return line.points[after - 1]?.[1] ?? null;
}

/**
 * One chart. `series`: { name, color, dash } with `value(row)` or `points`, pairs of a second and a figure; `unit(value)`
 * writes a label of the scale.
 */
export class Chart {
  constructor(canvas, { series, log = false, unit, least = 0 }) {
    Object.assign(this, { canvas, series, log, unit, least });
  }

  draw(rows, warmUp, cursor) {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0 || height === 0) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    const style = getComputedStyle(canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    const end = Math.max(1, rows.at(-1)?.to_s ?? 1);
    const x = (second) => LEFT + (second / end) * (width - LEFT - RIGHT);
    const scale = this.scale(rows, height);
    this.ground(pen, { width, height, x, end, warmUp, rows, scale, color });
    for (const line of this.series) this.line(pen, line, { rows, x, end, scale, color, width });
    if (cursor !== null && rows[cursor]) this.mark(pen, rows[cursor], { x, scale, color, height });
  }

  /** The vertical scale and its labels. */
  scale(rows, height) {
    let [low, high] = [Infinity, this.log ? 0 : this.least];
    for (const line of this.series) {
      for (const [, value] of figures(line, rows)) {
        if (value === null) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    const room = height - TOP - BOTTOM;
    if (this.log) {
      const positive = low > 0 && Number.isFinite(low) ? low : 0.1;
      const bottom = Math.floor(Math.log10(positive));
      const top = Math.max(bottom + 1, Math.ceil(Math.log10(Math.max(high, positive))));
      const at = (value) => Math.log10(Math.max(value, 10 ** bottom));
      const y = (value) => TOP + room * (1 - (at(value) - bottom) / (top - bottom));
      const labels = Array.from({ length: top - bottom + 1 }, (_, step) => 10 ** (bottom + step));
      return { y, labels };
    }
    const step = roundStep((high > 0 ? high : 1) / Math.max(2, Math.floor(room / 40)));
    const top = step * Math.max(1, Math.ceil((high > 0 ? high : 1) / step));
    const labels = Array.from({ length: Math.round(top / step) + 1 }, (_, number) => number * step);
    return { y: (value) => TOP + room * (1 - value / top), labels };
  }

  ground(pen, { width, height, x, end, warmUp, rows, scale, color }) {
    pen.fillStyle = color("--shade");
    if (warmUp > 0 && rows.length > 0) {
      pen.fillRect(LEFT, TOP, Math.min(x(warmUp), width - RIGHT) - LEFT, height - TOP - BOTTOM);
    }
    pen.fillStyle = color("--lost");
    for (let place = 0; place < rows.length; place += 1) {
      const before = place === 0 ? 0 : rows[place - 1].to_s;
      const from = rows[place].from_s;
      if (from - before > 0.001) pen.fillRect(x(before), TOP, x(from) - x(before), height - TOP - BOTTOM);
    }
    pen.strokeStyle = color("--rule");
    pen.fillStyle = color("--faint");
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const value of scale.labels) {
      const y = Math.round(scale.y(value)) + 0.5;
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(width - RIGHT, y);
      pen.stroke();
      pen.fillText(this.unit(value), LEFT - 6, y);
    }
    pen.textBaseline = "alphabetic";
    const step = roundTime(end / Math.max(2, Math.floor((width - LEFT - RIGHT) / 90)));
    for (let second = 0; second <= end; second += step) {
      pen.textAlign = second === 0 ? "left" : x(second) > width - 40 ? "right" : "center";
      pen.fillText(second < 60 && Number.isInteger(second) ? `${second} s` : clock(second), x(second), height - 5);
    }
  }

  /** A line; where moments share a pixel, the greatest of them. A gap where there is no value. Steps stay steps. */
  line(pen, line, { rows, x, end, scale, color, width }) {
    const { color: name, dash } = line;
    pen.strokeStyle = color(name);
    pen.fillStyle = color(name);
    pen.lineWidth = 1.8;
    pen.lineJoin = "round";
    pen.setLineDash(DASHES[dash ?? "solid"]);
    const points = [];
    const nearest = line.points ? 0 : Math.max(1, width / 1200);
    for (const [second, found] of figures(line, rows)) {
      if (found === null) {
        points.push(null);
        continue;
      }
      if (second > end) break;
      const at = x(second);
      const last = points.at(-1);
      if (last && at - last.x < nearest) last.value = Math.max(last.value, found);
      else points.push({ x: at, value: found });
    }
    pen.beginPath();
    points.forEach((point, place) => {
      if (!point) return;
      const y = scale.y(point.value);
      if (points[place - 1]) pen.lineTo(point.x, y);
      else pen.moveTo(point.x, y);
    });
    pen.stroke();
    pen.setLineDash([]);
    points.forEach((point, place) => {
      if (!point || points[place - 1] || points[place + 1]) return;
      pen.beginPath();
      pen.arc(point.x, scale.y(point.value), 2, 0, 7);
      pen.fill();
    });
  }

  mark(pen, row, { x, scale, color, height }) {
    const at = Math.round(x(middle(row))) + 0.5;
    pen.strokeStyle = color("--ink");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(at, TOP);
    pen.lineTo(at, height - BOTTOM);
    pen.stroke();
    for (const line of this.series) {
      const value = figureAt(line, row);
      if (value === null) continue;
      pen.fillStyle = color(line.color);
      pen.beginPath();
      pen.arc(at, scale.y(value), 3, 0, 7);
      pen.fill();
    }
  }
}

/** 1, 2 or 5 times a power of ten, at least `raw`. */
function roundStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw * 0.999);
}

/** A step of a time scale that people count in, at least `raw` seconds. */
function roundTime(raw) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return steps.find((step) => step >= raw) ?? Math.ceil(raw / 86400) * 86400;
}
