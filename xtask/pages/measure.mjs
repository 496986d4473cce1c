// Measures pages of knee in Chromium: size and first paint of saved ones, and of the live page its memory after 24 hours
// whose pieces arrive fast, the time a late tab takes to show the whole run, the time from an event to its figure on the
// screen, and the time to draw 100,000 points.
//
//   node measure.mjs FOLDER URL      the saved pages, and a live page that goes on
//
// Prints JSON. Judges nothing.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const DAY_S = 86_400;
/** As many moments as the program keeps: it joins neighbours beyond that. */
const MOMENTS_MAX = 7_200;
/** Pieces between two looks at whether the page has shown them. */
const BATCH = 600;
const LOOK_EVERY_S = 7_200;
const POINTS = 100_000;
/** Pieces of which each is timed until it is seen, and times that a saved page is opened. */
const TIMED = 30;
const OPENED = 5;
const ASSETS = ["page.css", "page.js", "chart.js", "number.js"];
const MIB = 1 << 20;

/** What the live page consists of, and a state of it. */
async function taken(live) {
  const address = new URL(live);
  const authorization = `Bearer ${address.searchParams.get("token")}`;
  const get = async (path) => {
    const answer = await fetch(new URL(path, address.origin), { headers: { authorization } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer.text();
  };
  const files = { "/": await get("/") };
  for (const name of ASSETS) files[`/assets/${name}`] = await get(`/assets/${name}`);
  return { files, state: JSON.parse(await get("/api/state")) };
}

/** A run of 24 hours with 20 endpoints, told a second at a time. */
class Day {
  constructor(state) {
    this.state = state;
    this.rows = [];
    this.second = 0;
    const { endpoints } = state.run;
    state.run.endpoints = Array.from({ length: 20 }, (_, number) => ({ ...endpoints[0], name: `GET /endpoint/${number}` }));
    state.run.duration_s = DAY_S;
    this.row = state.run.moments.rows.at(-1);
  }

  /** The next second as a piece. */
  piece() {
    const row = [...this.row];
    [row[0], row[1]] = [this.second, this.second + 1];
    row[4] = Math.round(300 + 50 * Math.sin(this.second / 60));
    this.second += 1;
    this.rows.push(row);
    let first = this.rows.length - 1;
    if (this.rows.length > MOMENTS_MAX) {
      this.rows = this.rows.flatMap((one, place) => (place % 2 ? [] : [[one[0], (this.rows[place + 1] ?? one)[1], ...one.slice(2)]]));
      first = 0;
    }
    return this.told(first);
  }

  /** Everything since the moment `first`. */
  told(first) {
    const { state } = this;
    state.sequence = this.second + 1;
    state.run.elapsed_s = this.second;
    state.run.moments.first = first;
    state.run.moments.rows = this.rows.slice(first);
    return `event: ${first === 0 ? "snapshot" : "moment"}\ndata: ${JSON.stringify(state)}\n\n`;
  }
}

/** Serves the page with the pieces of a day; `push` sends the next ones. */
async function served(files, day) {
  let watcher = null;
  let tell = null;
  const watched = new Promise((resolve) => (tell = resolve));
  const server = createServer((request, response) => {
    if (request.url === "/api/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(day.told(0));
      watcher ??= response;
      tell();
      return;
    }
    const kind = request.url.endsWith(".js") ? "text/javascript" : request.url.endsWith(".css") ? "text/css" : "text/html";
    response.writeHead(files[request.url] ? 200 : 404, { "content-type": kind });
    response.end(files[request.url] ?? "");
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const push = async (count) => {
    await watched;
    let text = "";
    for (let number = 0; number < count; number += 1) text += day.piece();
    return new Promise((sent) => watcher.write(text, sent));
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, push, close: () => server.closeAllConnections() ?? server.close() };
}

const shows = (page, second) =>
  page.waitForFunction((text) => document.getElementById("clock").textContent.startsWith(text), clock(second), { timeout: 120_000 });

/** As the page writes it. */
function clock(second) {
  const [hours, minutes, rest] = [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Memory of the renderer in MiB: what its scripts use, and what it has in memory. */
async function memory(browser, page) {
  const client = await page.context().newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  const { usedSize } = await client.send("Runtime.getHeapUsage");
  await client.detach();
  const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  const resident = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => residentOf(id));
  return { scripts_mib: usedSize / MIB, resident_mib: Math.max(...resident) };
}

function residentOf(pid) {
  const [, kib] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(kib) / 1024;
}

async function aDay(browser, files, state) {
  const day = new Day(state);
  const { url, push, close } = await served(files, day);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(url);
  const after = {};
  while (day.second < DAY_S) {
    await push(BATCH);
    await shows(page, day.second);
    if (day.second % LOOK_EVERY_S === 0) after[`${day.second / 3600} h`] = await memory(browser, page);
  }
  const late = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const begun = performance.now();
  await late.goto(url);
  await shows(late, day.second);
  const lateTab = performance.now() - begun;
  await late.close();
  const pixel = await eventToPixel(page, day, push);
  const drawn = await drawing(page);
  await page.close();
  close();
  return { memory_after: after, late_tab_ms: lateTab, event_to_pixel_ms: pixel, points_drawn_ms: drawn };
}

const median = (times) => [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)];

/**
 * From an event that the browser has received to the frame that shows its figure, while the tab has a whole day. The figure
 * differs in each piece, so that it is really this piece that is seen.
 */
async function eventToPixel(page, day, push) {
  const times = [];
  for (let number = 0; number < TIMED; number += 1) {
    const wanted = `${number + 1}00`;
    day.state.run.so_far.goodput_per_s = Number(wanted);
    await page.evaluate((text) => {
      window.seen = new Promise((done) => {
        const figure = document.getElementById("goodput");
        new MutationObserver((_, observer) => {
          if (!figure.textContent.startsWith(text)) return;
          observer.disconnect();
          // The first callback is before the frame with the figure is painted, and a message comes after it.
          requestAnimationFrame(() => {
            const channel = new MessageChannel();
            channel.port1.onmessage = () => done(performance.timeOrigin + performance.now());
            channel.port2.postMessage(0);
          });
        }).observe(figure, { childList: true, characterData: true, subtree: true });
      });
    }, Number(wanted).toLocaleString("en-US"));
    const sent = performance.timeOrigin + performance.now();
    await push(1);
    times.push((await page.evaluate(() => window.seen)) - sent);
  }
  return { median: median(times), max: Math.max(...times) };
}

/** Median time of five to draw a chart of 100,000 points. */
function drawing(page) {
  return page.evaluate(async (points) => {
    const { Chart } = await import("/assets/chart.js");
    const canvas = document.getElementById("rate");
    const rows = Array.from({ length: points / 4 }, (_, second) => ({ from_s: second, to_s: second + 1, v: 100 + (second * 7919) % 83 }));
    const series = [1, 2, 3, 4].map((factor) => ({ color: "--c1", value: (row) => row.v * factor }));
    const chart = new Chart(canvas, { series, unit: String });
    const times = [];
    for (let round = 0; round < 5; round += 1) {
      const begun = performance.now();
      chart.draw(rows, 0, null);
      // Has the browser finish what it put off.
      canvas.getContext("2d").getImageData(0, 0, 1, 1);
      times.push(performance.now() - begun);
    }
    return times.sort((one, other) => one - other)[2];
  }, POINTS);
}

/** Size and first paint of a saved page, the median of some openings. */
async function saved(browser, path) {
  const text = readFileSync(path, "utf8");
  const bare = text.replace(/<script type="application\/[^>]*>[^]*?<\/script>/g, "");
  const paints = [];
  for (let round = 0; round < OPENED; round += 1) paints.push(await firstPaint(browser, path));
  return { bytes: statSync(path).size, bytes_without_data: Buffer.byteLength(bare), first_paint_ms: median(paints) };
}

async function firstPaint(browser, path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(pathToFileURL(resolve(path)).href);
  // The page is loaded before it is painted.
  const paint = await page.evaluate(() => new Promise((done) => {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntriesByName("first-contentful-paint")) done(entry.startTime);
    });
    observer.observe({ type: "paint", buffered: true });
  }));
  await page.close();
  return paint;
}

const [folder, live] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.KNEE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const pages = {};
for (const file of readdirSync(folder).filter((name) => name.endsWith(".html")).sort()) pages[file] = await saved(browser, join(folder, file));
const { files, state } = await taken(live);
const live_page = await aDay(browser, files, state);
await browser.close();
console.log(JSON.stringify({ pages, live_page }, null, 2));
