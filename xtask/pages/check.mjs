// Opens pages of knee in Chromium and prints what is wrong with them: violations that axe finds, text that does not fit the
// window, requests to other places, messages of the console, tasks that the keyboard cannot do, paper with cut rows or
// with raster charts, and what cannot be read without scripts and styles. Takes pictures.
//
//   node check.mjs FOLDER PICTURES [NAME=URL]...      pages are the files of the folder, if it is not -, and the URLs
//
// Judges no content. Ends with 1 if it found something.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

import { JUDGED, SETTLE_MS, THEMES, WIDTHS, fault, faults, fits, judge, keyboard, tab, unread } from "./look.mjs";
import { library, missed, starts, without } from "./served.mjs";

/** Height of the text on a page of A4 in px of CSS, with the browser's margins. */
const PAPER_PX = 1_000;
/** A list has no validity of its own, and each of two runs has one in a table. */
const WITHOUT_BADGE = ["history", "two-runs"];
/** What Jenkins serves archived pages with. */
const POLICY = "sandbox; default-src 'none'; img-src 'self'; style-src 'self'; media-src 'self';";

/** Opens a page and goes on to the one that its URL leads to without its token. */
async function open(browser, url, options) {
  const opened = await tab(browser, url, options);
  if (url.startsWith("http")) {
    await opened.page.goto(new URL(url).origin);
    await opened.page.waitForTimeout(SETTLE_MS);
  }
  return opened;
}

/** Looks at a page, opened anew at each width in each theme. */
async function check(browser, name, url, pictures) {
  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      const label = `${name} (${theme}, ${width} px)`;
      const { context, page } = await open(browser, url, { width, label, context: { colorScheme: theme } });
      await fits(page, label);
      await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
      if (JUDGED.includes(width)) await judge(page, label);
      if (theme === "light" && width === 1280) await keyboard(page, label);
      await context.close();
    }
  }
}

/** Rows that paper can cut: those that may break, that no page can hold, or that are in a box which is not broken at rows. */
function cut(page) {
  return page.evaluate((most) => {
    const isSliced = (element) => {
      for (let at = element.parentElement; at; at = at.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(at);
        const isRoot = at === document.documentElement || at === document.body;
        if (!isRoot && ![overflowX, overflowY].every((one) => ["visible", "clip"].includes(one))) return true;
      }
      return false;
    };
    const rows = [...document.querySelectorAll("tr")].filter((row) => row.checkVisibility());
    return rows.filter((row) => getComputedStyle(row).breakInside !== "avoid" || row.offsetHeight > most || isSliced(row)).length;
  }, PAPER_PX);
}

/** A saved page on paper: light, rows in one piece, charts that are drawn and not photographed. */
async function onPaper(browser, name, url, pictures) {
  const label = `${name} (paper)`;
  const { context, page } = await open(browser, url, { width: 1280, label, context: { colorScheme: "dark" } });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).backgroundColor);
  if (/rgb\((\d|[1-9]\d|1\d\d), /.test(ground)) fault(label, `prints a dark ground: ${ground}`);
  const rows = await cut(page);
  if (rows > 0) fault(label, `${rows} rows of tables can be cut between two pages`);
  const pdf = await page.pdf({ path: join(pictures, `${name}.pdf`), format: "A4" });
  const rasters = pdf.toString("latin1").match(/\/Subtype\s*\/Image\b/g)?.length ?? 0;
  if (rasters > 0) fault(label, `${rasters} raster images are in the PDF`);
  await context.close();
}

/** A saved page where the host blocks scripts and styles: complete, and axe finds nothing. */
async function blocked(browser, name, url, pictures) {
  const label = `${name} (blocked)`;
  const body = readFileSync(new URL(url));
  const shown = async (policy, scripts, look) => {
    const context = await browser.newContext({ javaScriptEnabled: scripts, viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const headers = { "content-type": "text/html", "content-security-policy": policy };
    await page.route("http://reports.test/**", (route) => route.fulfill({ body, headers }));
    await page.goto("http://reports.test/artifact/page.html");
    await look(page);
    await context.close();
  };
  await shown(POLICY, false, async (page) => {
    const unpainted = await page.evaluate(() =>
      [...document.querySelectorAll("svg path, svg line, svg circle")].filter((shape) => {
        const style = getComputedStyle(shape);
        return style.stroke === "none" && (style.fill === "none" || style.fill === "rgba(0, 0, 0, 0)");
      }).length,
    );
    if (unpainted > 0) fault(label, `${unpainted} shapes have no colour`);
    const texts = ["h1", ".answer", ...(WITHOUT_BADGE.includes(name) ? [] : [".trust .verdict"]), "th", "td"];
    for (const what of await unread(page, texts)) fault(label, what);
    await page.screenshot({ path: join(pictures, `${name}-blocked.png`) });
  });
  // axe itself is a script. A saved page has none, so that it is the same page with the same policy for styles. Without
  // styles, the browser alone decides how far links are apart.
  await shown(POLICY.replace("sandbox; ", ""), true, (page) => judge(page, label, { without: ["target-size"] }));
}

/** A saved page on paper, with forced colours, and where the host blocks scripts and styles. */
async function elsewhere(browser, name, url, pictures) {
  await onPaper(browser, name, url, pictures);
  const label = `${name} (forced colours)`;
  const forced = await open(browser, url, { width: 1280, label, context: { forcedColors: "active" } });
  await judge(forced.page, label);
  await forced.context.close();
  await blocked(browser, name, url, pictures);
}

/** What is done on a served page beside looking at it. */
const TASKS = {
  serve: library,
  "serve-control": (browser, url, pictures) => starts(browser, url, process.env.KNEE_TARGET, pictures),
  live: async (browser, url, pictures) => {
    await missed(browser, url, pictures);
    await without(browser, url);
  },
};

const [folder, pictures, ...urls] = process.argv.slice(2);
const files = (folder === "-" ? [] : readdirSync(folder)).filter((file) => file.endsWith(".html")).sort();
const browser = await chromium.launch({ executablePath: process.env.KNEE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const file of files) {
  const [name, url] = [basename(file, ".html"), pathToFileURL(resolve(folder, file)).href];
  await check(browser, name, url, pictures);
  await elsewhere(browser, name, url, pictures);
  console.error(`looked at ${name}`);
}
for (const named of urls) {
  const [name, url] = [named.slice(0, named.indexOf("=")), named.slice(named.indexOf("=") + 1)];
  await check(browser, name, url, pictures);
  await TASKS[name]?.(browser, url, pictures);
  console.error(`looked at ${name}`);
}
await browser.close();
console.log(`${files.length + urls.length} pages, ${faults()} faults`);
process.exitCode = faults() > 0 ? 1 : 0;
