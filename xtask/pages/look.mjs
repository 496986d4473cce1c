// The looks that every page of knee gets in Chromium: violations that axe finds, text that does not fit the window, requests
// to other places, messages of the console, focus that cannot be seen. Counts what is wrong, and takes pictures.
//
// Does not know which pages there are.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const WIDTHS = [390, 768, 1280, 2560];
export const THEMES = ["light", "dark"];
/** Widths at which axe looks: the rules depend on the elements and on what is visible, not on every width. */
export const JUDGED = [390, 1280];
/** A page of a run that goes on never rests; this long it is watched. */
export const SETTLE_MS = 1_500;
/** Longest that a page takes to show what it is waited for, on a busy machine too. */
export const PATIENCE_MS = 60_000;
const HEIGHT = 900;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Most stops of the Tab key on a page. */
const STOPS_MAX = 400;

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

let count = 0;
export function fault(page, what) {
  count += 1;
  console.log(`${page}: ${what}`);
}

/** Faults so far. */
export const faults = () => count;

/** A tab, and what collects what it should not do. `label` is what its faults are reported under. */
export async function tab(browser, url, { label, width, context, ...options }) {
  const opened = await browser.newContext({ viewport: { width, height: HEIGHT }, ...context });
  const page = await opened.newPage();
  const at = { label };
  page.on("console", (message) => {
    // A browser writes of a page with an error what the page itself says.
    const isNotice = options.refusals && message.text().startsWith("Failed to load resource");
    if (!isNotice) fault(at.label, `console: ${message.text()}`);
  });
  page.on("pageerror", (error) => fault(at.label, `script: ${error.message}`));
  page.on("request", (request) => {
    const [to, origin] = [new URL(request.url()), new URL(url).origin];
    const isOwn = to.href === url || (to.protocol !== "file:" && to.origin === origin);
    if (!["data:", "blob:"].includes(to.protocol) && !isOwn) fault(at.label, `asks for ${to.href}`);
  });
  if (options.before) await options.before(page);
  await page.goto(url);
  // The token is in a cookie now, and a page that leads on from its URL has done so.
  if (url.startsWith("http")) await page.waitForTimeout(SETTLE_MS);
  return { context: opened, page, at };
}

export async function judge(page, label, { without = [] } = {}) {
  // Evaluated by the browser's own door: the content policy of the page forbids scripts.
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => axe.run(document, { runOnly: rules, resultTypes: ["violations"] }), RULES);
  for (const { id, help, nodes } of found.violations.filter(({ id }) => !without.includes(id))) {
    fault(label, `axe ${id}: ${help}: ${nodes.length} elements, such as ${nodes[0].html.slice(0, 160)}`);
  }
}

/** Whether the page is wider than its window. */
export async function fits(page, label) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (wide > room) fault(label, `${wide - room} px wider than its window`);
}

/** Each element that can have the focus shows it, and none keeps it. */
export async function keyboard(page, label) {
  const seen = new Set();
  for (let step = 0; step < STOPS_MAX; step += 1) {
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

/** Goes with the Tab key to the element at `place` among those of `selector`. Returns whether it was reached. */
export async function reached(page, label, selector, { place = 0, key = "Tab" } = {}) {
  const wanted = page.locator(selector).nth(place);
  for (let step = 0; step < STOPS_MAX; step += 1) {
    if ((await wanted.count()) > 0 && (await wanted.evaluate((element) => element === document.activeElement))) return true;
    await page.keyboard.press(key);
  }
  fault(label, `the keyboard does not reach ${selector}`);
  return false;
}

/** Looks at what a tab shows now, at each width in each theme, without opening it again: some pages come once. */
export async function looked({ page, at }, name, pictures) {
  // Pictures are of the first screen, wherever the keyboard has been.
  await page.evaluate(() => scrollTo(0, 0));
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of WIDTHS) {
      at.label = `${name} (${theme}, ${width} px)`;
      await page.setViewportSize({ width, height: HEIGHT });
      // A chart is drawn anew in the next frame.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await fits(page, at.label);
      await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
      if (JUDGED.includes(width)) await judge(page, at.label);
    }
  }
  at.label = name;
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: HEIGHT });
}

/** Texts among those of `selectors` that nobody could read: hidden, without a size, or in the colour of their ground. */
export function unread(page, selectors) {
  return page.evaluate((all) => {
    const ground = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const { backgroundColor } = getComputedStyle(at);
        if (!/^rgba\(.*, 0\)$|^transparent$/.test(backgroundColor)) return backgroundColor;
      }
      return "rgb(255, 255, 255)";
    };
    const isRead = (element) => {
      const [box, style] = [element.getBoundingClientRect(), getComputedStyle(element)];
      const isShown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      return isShown && box.width > 1 && box.height > 1 && parseFloat(style.fontSize) >= 6 && style.color !== ground(element);
    };
    const found = [];
    for (const selector of all) {
      // What is folded up is read after it was opened, which takes no script.
      const isOpen = (element) => element.textContent.trim() !== "" && !element.closest("details:not([open])");
      const elements = [...document.querySelectorAll(selector)].filter(isOpen);
      if (elements.length === 0) found.push(`there is no ${selector}`);
      const hidden = elements.filter((element) => !isRead(element));
      if (hidden.length > 0) found.push(`${hidden.length} of ${selector} cannot be read, such as ${hidden[0].outerHTML.slice(0, 120)}`);
    }
    return found;
  }, selectors);
}
