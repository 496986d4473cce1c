// The live page: reads the stream of events and shows it. Every name is text (`textContent`), because names come from
// URLs, servers and scripts. Calculates no statistics: the program does.

import { Chart, Timeline } from "./chart.js";
import { ObservedCharts } from "./observed.js";
import { bytes, clock, count, percent, rate, short, time } from "./number.js";

const $ = (id) => document.getElementById(id);

/** After so many failed attempts the command is gone. */
const FAILURES_MAX = 10;
/** The headline is read aloud at most this often. */
const SPOKEN_MS = 5_000;

// The tokens stay in the cookie and in this tab, not in the address.
const given = new URLSearchParams(location.hash.slice(1)).get("control");
if (given) sessionStorage.setItem("control", given);
if (location.search || location.hash) history.replaceState(null, "", location.pathname);
const control = sessionStorage.getItem("control");

let rows = [];
let last = null;
let heard = 0;
let spokenAt = 0;
let source = null;
let failures = 0;
let isLive = false;

/** An interval shorter than this share of the longest has no rates: the last responses can take microseconds. */
const STUB = 0.1;

let longest = 0;
const per = (row, number) => (row.to_s - row.from_s > STUB * longest ? number / (row.to_s - row.from_s) : null);
const perSecond = (name) => (row) => per(row, row[name]);
const notOk = (row) => per(row, row.ended - row.ok);
const value = (name) => (row) => row[name] ?? null;
const share = (name) => (row) => (row[name] === null ? null : row[name] * 100);

const SERIES = {
  rate: [
    { name: "scheduled", color: "--c0", dash: "dashed", value: perSecond("scheduled") },
    { name: "ok", color: "--c1", value: perSecond("ok") },
    { name: "not ok", color: "--bad", dash: "dotted", value: notOk },
  ],
  times: [
    { name: "response max", color: "--c6", dash: "dotted", value: value("response_max_ms") },
    { name: "response p99", color: "--c2", value: value("response_p99_ms") },
    { name: "response p50", color: "--c1", value: value("response_p50_ms") },
    { name: "service p50", color: "--c3", dash: "dashed", value: value("service_p50_ms") },
  ],
  cpu: [
    { name: "busiest worker", color: "--c1", value: share("worker_cpu") },
    { name: "all CPUs of this machine", color: "--c0", dash: "dashed", value: share("host_busy") },
  ],
  flight: [
    { name: "in flight", color: "--c1", value: value("in_flight") },
    { name: "waiting for a connection", color: "--c2", dash: "dashed", value: value("backlog") },
  ],
};

/** A label of a scale. */
const level = (value) => (Number.isInteger(value) ? count(value) : short(value));

const chart = (name, more) => new Chart($(name), { series: SERIES[name], ...more });
const timeline = new Timeline(
  [
    chart("rate", { unit: level }),
    chart("times", { unit: (ms) => (ms >= 1 ? count(ms) : String(Number(ms.toPrecision(1)))), log: true }),
    chart("cpu", { unit: (share) => `${level(share)} %`, least: 100 }),
    chart("flight", { unit: level, least: 5 }),
  ],
  readOut,
);
const observed = new ObservedCharts($("observed"), timeline);

const keys = [];
for (const [name, series] of Object.entries(SERIES)) {
  for (const { name: label, color, dash, value } of series) {
    const key = element("span", "", "key");
    const swatch = element("span", "", `swatch ${dash ?? "solid"}`);
    swatch.style.borderTopColor = `var(${color})`;
    swatch.setAttribute("aria-hidden", "true");
    key.append(swatch, label);
    $(`${name}-legend`).append(key);
    keys.push([key, value]);
  }
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Sets a text only if it is another one: readers of the page hear no repetitions. */
function write(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

function readOut(row) {
  observed.read(row);
  if (!row) {
    write("readout", "Arrow keys on a chart move the cursor; Home, End and Escape too.");
    return;
  }
  const bound = row.at_least ? "at least " : "";
  const parts = [
    row.to_s - row.from_s > 1.5 ? `${clock(row.from_s)} to ${clock(row.to_s)}` : `at ${clock(row.to_s)}`,
    `${rate(perSecond("ok")(row))} ok of ${rate(perSecond("scheduled")(row))} scheduled`,
    `${rate(notOk(row))} not ok`,
    `response p50 ${time(row.response_p50_ms)}, p99 ${time(row.response_p99_ms)}, max ${bound}${time(row.response_max_ms)}`,
    `${count(row.in_flight)} in flight`,
  ];
  write("readout", parts.join(" · ") + (row.warm_up ? " · warm-up" : ""));
}

/** Takes the moments of a piece: all of them, or those that follow. */
function takeMoments({ columns, first, rows: more }) {
  const made = more.map((row) => Object.fromEntries(columns.map((column, place) => [column, row[place]])));
  rows = first === 0 ? made : rows.slice(0, first).concat(made);
  longest = rows.reduce((most, row) => Math.max(most, row.to_s - row.from_s), 0);
}

function show(state) {
  last = state;
  heard = performance.now();
  write("command", `knee ${state.command}`);
  showLines(state);
  showConclusion(state);
  showControl(state);
  const { run } = state;
  if (!run) {
    write("clock", "");
    return;
  }
  takeMoments(run.moments);
  document.title = `${run.title} · knee`;
  write("title", run.title);
  const change = state.steering?.changes.at(-1);
  const steered = change ? ` · steered to ${rate(change.to_per_s)} from ${clock(change.at_s)} on` : "";
  write("terms", `${run.load}${steered}${run.number > 1 || isSeries(state) ? ` · run ${run.number} of this command` : ""}`);
  showAnswer(run);
  showValidity(run.validity);
  showEndpoints(run);
  showErrors(run);
  showGenerator(run.generator, run);
  $("missed").hidden = run.missed_s === 0;
  write("missed", `${clock(run.missed_s)} of the run did not reach this page. The saved run has them.`);
  for (const [key, value] of keys) key.hidden = rows.every((row) => value(row) === null);
  if (state.observed !== undefined) observed.show(state.observed);
  $("observed-section").hidden = observed.isEmpty;
  timeline.show(rows, run.measured_from_s);
  tick();
  speak(run, state.over);
}

/** The result of the command. The report comes with the last piece. */
function showConclusion(state) {
  const { conclusion, report } = state;
  const says = conclusion !== null && (conclusion.answer !== "" || report !== undefined);
  $("conclusion").hidden = !says;
  $("last-run").hidden = !says || !isSeries(state);
  if (!says) return;
  write("conclusion-answer", conclusion.answer);
  $("conclusion-answer").hidden = conclusion.answer === "";
  const validity = isSeries(state) ? conclusion.validity : null;
  write("conclusion-validity", validity ? `Validity: ${validity}.` : "");
  if (report === undefined) return;
  $("report").href = URL.createObjectURL(new Blob([report], { type: "text/html" }));
  $("report").hidden = false;
}

/** What the owner of the second token can do. */
function showControl({ over, steering }) {
  $("control").hidden = control === null || over;
  $("steer").hidden = !steering;
  if (!steering) return;
  $("wanted").max = steering.most_per_s;
  write("most", `at most ${rate(steering.most_per_s)}`);
}

async function order(path, fields) {
  write("said", "asking");
  try {
    const answer = await fetch(path, { method: "POST", body: new URLSearchParams({ control, ...fields }) });
    const isJson = answer.headers.get("content-type") === "application/json";
    write("said", isJson ? (await answer.json()).says : (await answer.text()).trim());
  } catch {
    write("said", "the command cannot be reached");
  }
}

$("stop").addEventListener("click", () => {
  // A double click is one stop.
  $("stop").disabled = true;
  setTimeout(() => ($("stop").disabled = false), 1_500);
  order("/api/run/stop", {});
});
$("control").addEventListener("submit", (event) => {
  event.preventDefault();
  order("/api/run/steer", { rate: $("wanted").value, over_s: $("over").value });
});

const isSeries = (state) => !["run", "demo"].includes(state.command);

function showAnswer({ so_far: soFar, validity }) {
  const { response_time_ms: times } = soFar;
  write("goodput", rate(soFar.goodput_per_s));
  write("goodput-beside", soFar.scheduled_requests_per_s === null ? "" : `${rate(soFar.scheduled_requests_per_s)} scheduled`);
  showTime("typical", times, ["p50", "mean"]);
  showTime("tail", times, ["p99", "max"]);
  write("not-ok", percent(soFar.failed_share));
  write("not-ok-beside", `${count(soFar.ended - soFar.outcomes.ok)} of ${count(soFar.ended)} requests`);
  $("answer").classList.toggle("pale", validity.final && validity.state === "invalid");
}

/** The first of these figures that the sample supports, with its name. */
function showTime(id, times, names) {
  const name = names.find((known) => times[known] !== null) ?? names[0];
  const bound = times.at_least.includes(name) ? "≥ " : "";
  write(`${id}-name`, `Response time ${name}`);
  write(id, `${bound}${time(times[name])}`);
  const needed = times.needs[names[0]];
  write(`${id}-beside`, needed ? `${names[0]} needs ${count(needed)} requests` : "");
}

function showValidity({ state, final, messages }) {
  const [look, sign] = { valid: ["good", "✓"], suspect: ["doubtful", "?"], invalid: ["bad", "✕"] }[state];
  $("trust").className = `trust ${look}`;
  write("sign", sign);
  const name = state[0].toUpperCase() + state.slice(1);
  write("validity", final ? `${name}: the validity check of the run` : `${name} so far: provisional signs, not the validity check`);
  replace("reasons", messages.map((message) => element("li", message)));
}

/** Replaces the children of an element if their text differs. */
function replace(id, children) {
  const text = children.map((child) => child.textContent).join("\n");
  if ($(id).dataset.text === text) return;
  $(id).dataset.text = text;
  $(id).replaceChildren(...children);
}

function tableRow(cells) {
  const row = document.createElement("tr");
  cells.forEach(([text, className], place) => {
    const cell = element(place === 0 ? "th" : "td", place === 0 ? "" : text, className);
    if (place === 0) {
      cell.scope = "row";
      cell.append(element("bdi", text));
    }
    row.append(cell);
  });
  return row;
}

function showEndpoints({ endpoints, endpoints_left_out: leftOut }) {
  const figure = (times, name) => [`${times.at_least.includes(name) ? "≥ " : ""}${time(times[name])}`, "n"];
  const made = endpoints.map(({ name, ended, ok, response_time_ms: times }) =>
    tableRow([
      [name],
      [count(ended), "n"],
      [ended > 0 ? percent((ended - ok) / ended) : "–", "n"],
      figure(times, "p50"),
      figure(times, "p99"),
      figure(times, "max"),
    ]),
  );
  replace("endpoints", made);
  $("left-out").hidden = leftOut === 0;
  write("left-out", `${count(leftOut)} more endpoints have no row here; the result has them all.`);
}

function showErrors({ status, faults }) {
  const made = [
    ...status.map(({ code, count: number }) => tableRow([[`Status ${code}`], [code < 400 ? "" : "server", ""], [count(number), "n"]])),
    ...faults.map(({ sentence, blame, count: number }) => tableRow([[sentence], [blame], [count(number), "n"]])),
  ];
  replace("errors", made);
}

function showGenerator(generator, run) {
  const facts = [
    ["Generator lag p99", `${time(generator.lag_p99_ms)} in the last interval`],
    ["Busiest worker", `${percent(generator.worker_cpu)} of a CPU${generator.workers ? `, ${generator.workers} workers` : ""}`],
    ["This machine", `${percent(generator.host_busy)} of all CPUs busy${generator.steal ? `, ${percent(generator.steal)} taken by a hypervisor` : ""}`],
    ["In flight", `${count(generator.in_flight)}, ${count(generator.backlog)} waiting for a connection`],
    ["Connections", count(generator.connections)],
    ["Received", bytes(generator.received_bytes)],
    ["Outcomes", Object.entries(run.so_far.outcomes).filter(([, number]) => number > 0).map(([name, number]) => `${count(number)} ${name.replace("_", " ")}`).join(", ") || "–"],
  ];
  replace("generator", facts.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
}

function showLines(state) {
  const lines = [...state.warnings.map((text) => `warning: ${text}`), ...state.lines];
  $("lines-section").hidden = lines.length === 0;
  const atEnd = $("lines").scrollHeight - $("lines").scrollTop - $("lines").clientHeight < 40;
  replace("lines", lines.map((line) => element("li", line)));
  if (atEnd) $("lines").scrollTop = $("lines").scrollHeight;
}

function speak(run, over) {
  if (performance.now() - spokenAt < SPOKEN_MS && !over) return;
  spokenAt = performance.now();
  write("spoken", `${over ? "The run has ended. " : ""}${run.headline}. ${$("validity").textContent}`);
}

/** What moves between two pieces: the clock and the bar. */
function tick() {
  const run = last?.run;
  if (!run) return;
  const passed = run.phase === "loading" && isLive && !last.over ? (performance.now() - heard) / 1000 : 0;
  const elapsed = run.elapsed_s + passed;
  const done = run.phase === "ended" ? 1 : run.duration_s ? Math.min(1, elapsed / run.duration_s) : run.done;
  $("bar").value = done;
  const words = {
    waiting: "connecting",
    loading: `${clock(elapsed)}${run.duration_s ? ` of ${clock(run.duration_s)}` : ""}${elapsed < run.measured_from_s ? ", warming up" : ""}`,
    stopping: `${clock(elapsed)}, waiting for requests in flight`,
    ended: `ended after ${clock(run.elapsed_s)}`,
  };
  write("clock", words[run.phase]);
}

function connect() {
  source = new EventSource("/api/events");
  const take = (event) => {
    failures = 0;
    isLive = true;
    write("connection", "live");
    show(JSON.parse(event.data));
  };
  source.addEventListener("snapshot", take);
  source.addEventListener("moment", take);
  source.addEventListener("ended", (event) => {
    show(JSON.parse(event.data));
    leave("run ended; the figures stay");
  });
  source.addEventListener("error", () => {
    failures += 1;
    isLive = false;
    if (failures > FAILURES_MAX || source?.readyState === EventSource.CLOSED) leave(last ? "connection lost: these are the last figures that arrived; the saved run has all" : "not connected: the command has ended, or its URL is an old one");
    else write("connection", "connection lost, trying again");
  });
}

function leave(words) {
  source?.close();
  source = null;
  isLive = false;
  write("connection", words);
  tick();
}

// A browser stops tabs in the background: what it missed comes with the next piece, if the command still runs.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !source && last && !last.over) connect();
});
setInterval(tick, 250);
connect();
