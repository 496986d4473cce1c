// Opens pages of knee in Chromium and prints what is wrong with them: violations that axe finds, text that does not fit the
// window, requests to other places, messages of the console. Takes a picture of each.
//
//   node check.mjs FOLDER PICTURES [URL]...      pages are the files of the folder, and the URLs
//
// Judges no content. Ends with 1 if it found something.

import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const WIDTHS = [390, 768, 1280, 2560];
const THEMES = ["light", "dark"];
/** Widths at which axe looks: the rules depend on the elements and on what is visible, not on every width. */
const JUDGED = [390, 1280];
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** A page of a run that goes on never rests; this long it is watched. */
const SETTLE_MS = 1_500;

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

let faults = 0;
function fault(page, what) {
  faults += 1;
  console.log(`${page}: ${what}`);
}

/** Opens a page, and collects what it should not do. */
async function open(browser, name, url, options) {
  const context = await browser.newContext({ viewport: { width: options.width, height: 900 }, ...options.context });
  const page = await context.newPage();
  const origin = new URL(url).origin;
  page.on("console", (message) => fault(options.label, `console: ${message.text()}`));
  page.on("pageerror", (error) => fault(options.label, `script: ${error.message}`));
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (!["data:", "blob:"].includes(to.protocol) && to.href !== url && to.origin !== origin) fault(options.label, `asks for ${to.href}`);
  });
  await page.goto(url);
  if (url.startsWith("http")) {
    // The token is in a cookie now, and a page that leads on from its URL has done so.
    await page.waitForTimeout(SETTLE_MS);
    await page.goto(origin);
    await page.waitForTimeout(SETTLE_MS);
  }
  return { context, page };
}

async function judge(page, label) {
  // Evaluated by the browser's own door: the content policy of the page forbids scripts.
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => axe.run(document, { runOnly: rules, resultTypes: ["violations"] }), RULES);
  for (const { id, help, nodes } of found.violations) {
    fault(label, `axe ${id}: ${help}: ${nodes.length} elements, such as ${nodes[0].html.slice(0, 160)}`);
  }
}

/** Whether the page is wider than its window. */
async function fits(page, label) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (wide > room) fault(label, `${wide - room} px wider than its window`);
}

/** Each element that can have the focus shows it, and none keeps it. */
async function keyboard(page, label) {
  const seen = new Set();
  for (let step = 0; step < 400; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const style = getComputedStyle(element);
      const all = [...document.querySelectorAll("*")];
      return { place: all.indexOf(element), html: element.outerHTML.slice(0, 120), shown: style.outlineStyle !== "none" || style.boxShadow !== "none" };
    });
    if (at === null || seen.has(at.place)) return;
    seen.add(at.place);
    if (!at.shown) fault(label, `focus is invisible on ${at.html}`);
  }
}

async function check(browser, name, url, pictures) {
  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      const label = `${name} (${theme}, ${width} px)`;
      const { context, page } = await open(browser, name, url, { width, label, context: { colorScheme: theme } });
      await fits(page, label);
      await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
      if (JUDGED.includes(width)) await judge(page, label);
      if (theme === "light" && width === 1280) await keyboard(page, label);
      await context.close();
    }
  }
}

/** A saved page on paper, with forced colours, without a script, and where the host blocks scripts and styles. */
async function elsewhere(browser, name, url, pictures) {
  const paper = await open(browser, name, url, { width: 1280, label: `${name} (paper)`, context: { colorScheme: "dark" } });
  await paper.page.emulateMedia({ media: "print", colorScheme: "dark" });
  const ground = await paper.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).backgroundColor);
  if (/rgb\((\d|[1-9]\d|1\d\d), /.test(ground)) fault(`${name} (paper)`, `prints a dark ground: ${ground}`);
  await paper.page.pdf({ path: join(pictures, `${name}.pdf`), format: "A4" });
  await paper.context.close();

  const forced = await open(browser, name, url, { width: 1280, label: `${name} (forced colours)`, context: { forcedColors: "active" } });
  await judge(forced.page, `${name} (forced colours)`);
  await forced.context.close();

  const label = `${name} (blocked)`;
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const body = readFileSync(new URL(url));
  const policy = "sandbox; default-src 'none'; img-src 'self'; style-src 'self'; media-src 'self';";
  await page.route("http://reports.test/**", (route) => route.fulfill({ body, headers: { "content-type": "text/html", "content-security-policy": policy } }));
  await page.goto("http://reports.test/artifact/page.html");
  const unpainted = await page.evaluate(() =>
    [...document.querySelectorAll("svg path, svg line, svg circle")].filter((shape) => {
      const style = getComputedStyle(shape);
      return style.stroke === "none" && (style.fill === "none" || style.fill === "rgba(0, 0, 0, 0)");
    }).length,
  );
  if (unpainted > 0) fault(label, `${unpainted} shapes have no colour`);
  await page.screenshot({ path: join(pictures, `${name}-blocked.png`) });
  await context.close();
}

const [folder, pictures, ...urls] = process.argv.slice(2);
const files = readdirSync(folder).filter((file) => file.endsWith(".html")).sort();
const browser = await chromium.launch({ executablePath: process.env.KNEE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const file of files) {
  const [name, url] = [basename(file, ".html"), pathToFileURL(resolve(folder, file)).href];
  await check(browser, name, url, pictures);
  await elsewhere(browser, name, url, pictures);
  console.error(`looked at ${name}`);
}
for (const named of urls) {
  const [name, url] = named.split("=http").map((part, place) => (place === 0 ? part : `http${part}`));
  await check(browser, name, url, pictures);
  console.error(`looked at ${name}`);
}
await browser.close();
console.log(`${files.length + urls.length} pages, ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
