// The pages that `knee serve` has beside its list: a result, two runs beside each other, and with `--control` the forms, the
// confirmation, the start, a refusal, and the live page of a load that was started and stopped. Their tasks are done with the
// keyboard alone, as some people have to.
//
// Judges no content.

import { PATIENCE_MS, fault, fits, judge, keyboard, looked, reached, tab, unread } from "./look.mjs";

/** Long enough that the load goes on until the keyboard stops it. */
const LOAD = { rate: "50", duration: "3600s", name: "started in a browser" };

/** Whether a page has this heading soon. */
async function hasHeading(page, label, text) {
  const heading = page.locator("h1", { hasText: text });
  try {
    await heading.waitFor({ timeout: PATIENCE_MS });
    return true;
  } catch {
    fault(label, `the heading "${text}" does not come; there is "${await page.locator("h1").first().textContent()}"`);
    return false;
  }
}

/** Opens the list, chooses two runs and compares them with the keyboard; looks at that page, a result and an error. */
export async function library(browser, url, pictures) {
  const opened = await tab(browser, url, { label: "serve-compare", width: 1280, refusals: true });
  const { page, at, context } = opened;
  const runs = "input[type=checkbox][name=run]";
  for (const place of [0, 1]) {
    if (await reached(page, at.label, runs, { place })) await page.keyboard.press("Space");
  }
  if (await reached(page, at.label, ".choice button", { key: "Shift+Tab" })) {
    await page.keyboard.press("Enter");
    await page.waitForURL("**/compare?**", { timeout: PATIENCE_MS });
    const chosen = new URL(page.url()).searchParams.getAll("run");
    if (chosen.length !== 2) fault(at.label, `${chosen.length} runs are chosen, not 2`);
    for (const what of await unread(page, ["h1", "table td", ".back a"])) fault(at.label, what);
    await keyboard(page, at.label);
    await looked(opened, "serve-compare", pictures);
  }
  at.label = "serve-result";
  await page.goto(new URL("/", url).href);
  if (await reached(page, at.label, "a[href^='/result/']")) {
    await page.keyboard.press("Enter");
    await page.waitForURL("**/result/**", { timeout: PATIENCE_MS });
    for (const what of await unread(page, ["h1", ".answer", ".back a"])) fault(at.label, what);
    await keyboard(page, at.label);
    await looked(opened, "serve-result", pictures);
  }
  at.label = "serve-error";
  await page.goto(new URL("/compare?run=none", url).href);
  if (await hasHeading(page, at.label, "one run is chosen")) await looked(opened, "serve-error", pictures);
  await context.close();
}

/** Fills in the form of a URL and asks for its confirmation, with the keyboard alone. */
async function filledIn(page, label, target) {
  for (const [name, value] of Object.entries({ url: target, ...LOAD })) {
    if (!(await reached(page, label, `#url-${name}`))) return false;
    // What stood there is chosen, as the Tab key does.
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type(value);
  }
  await page.keyboard.press("Enter");
  return hasHeading(page, label, "Start this load?");
}

/** Starts a load from the forms, looks at each page on the way, and stops it on its live page. */
export async function starts(browser, url, target, pictures) {
  const opened = await tab(browser, url, { label: "start", width: 1280, refusals: true });
  const { page, at, context } = opened;
  const forms = page.url();
  if (!(await hasHeading(page, at.label, "Start a load"))) return;
  await keyboard(page, at.label);
  await looked(opened, "start", pictures);
  await page.goto(forms);
  at.label = "start-confirmation";
  if (!(await filledIn(page, at.label, target))) return;
  await keyboard(page, at.label);
  await looked(opened, "start-confirmation", pictures);
  at.label = "start-started";
  if (!(await confirmed(page, at.label, "The load has started"))) return;
  const live = await page.locator("main a", { hasText: "Watch it live" }).getAttribute("href");
  await looked(opened, "start-started", pictures);
  // A second load is refused while the first one runs, and so are fields that are no load.
  at.label = "start-refused";
  await page.goto(forms);
  if (!(await hasHeading(page, at.label, "Start a load"))) return;
  if (await filledIn(page, at.label, target)) {
    if (await confirmed(page, at.label, "a load is running")) await looked(opened, "start-refused", pictures);
  }
  at.label = "start-wrong";
  await page.goto(forms);
  if (await reached(page, at.label, "#url-url")) {
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("no URL");
    await page.keyboard.press("Enter");
    if (await hasHeading(page, at.label, "this is no URL")) await looked(opened, "start-wrong", pictures);
  }
  await stopped(browser, live, pictures);
  at.label = "start-ended";
  await page.goto(forms);
  const says = await page.locator("header.front").textContent();
  if (!says.includes("Nothing is running. The last load")) fault(at.label, `does not say how the load ended: ${says}`);
  await looked(opened, "start-ended", pictures);
  await context.close();
}

/** Confirms with the keyboard what is shown. */
async function confirmed(page, label, heading) {
  if (!(await reached(page, label, "form.start button"))) return false;
  await page.keyboard.press("Enter");
  return hasHeading(page, label, heading);
}

/** Stops a load on its live page with the keyboard, and looks at the page after the end. */
async function stopped(browser, url, pictures) {
  const opened = await tab(browser, url, { label: "live-ended", width: 1280 });
  const { page, at, context } = opened;
  if (await reached(page, at.label, "#stop")) await page.keyboard.press("Enter");
  try {
    await page.waitForFunction(() => document.getElementById("connection").textContent.startsWith("run ended"), null, { timeout: PATIENCE_MS });
  } catch {
    fault(at.label, `the keyboard does not stop the load: ${await page.locator("main header").textContent()}`);
    await context.close();
    return;
  }
  for (const what of await unread(page, ["h1", "#clock", "#report", "#validity", "#goodput", "#endpoints td"])) fault(at.label, what);
  if (await page.locator("#stop").isVisible()) fault(at.label, "a load that has ended can be stopped");
  await keyboard(page, at.label);
  await looked(opened, "live-ended", pictures);
  await context.close();
}

/** The live page of a run of which some seconds did not reach it: says so where it is seen. */
export async function missed(browser, url, pictures) {
  const { origin, searchParams } = new URL(url);
  const answer = await fetch(`${origin}/api/state`, { headers: { authorization: `Bearer ${searchParams.get("token")}` } });
  const state = await answer.json();
  state.run.missed_s = 12;
  const body = `event: snapshot\ndata: ${JSON.stringify(state)}\n\n`;
  const before = (page) => page.route("**/api/events", (route) => route.fulfill({ contentType: "text/event-stream", body }));
  const opened = await tab(browser, url, { label: "live-missed", width: 1280, before });
  const { page, at, context } = opened;
  await page.waitForFunction(() => document.getElementById("title").textContent !== "Waiting for the load", null, { timeout: PATIENCE_MS });
  for (const what of await unread(page, ["#missed"])) fault(at.label, what);
  const says = await page.locator("#missed").textContent();
  if (!says.startsWith("12.0 s of the run")) fault(at.label, `does not say that 12 seconds are missing: ${says}`);
  const box = await page.locator("#missed").boundingBox();
  if (!box || box.y > 900) fault(at.label, "what is missing is not said on the first screen");
  await looked(opened, "live-missed", pictures);
  await context.close();
}

/** The live page where scripts are blocked: says that it needs them. */
export async function without(browser, url) {
  const label = "live (without a script)";
  const { page, context } = await tab(browser, url, { label, width: 390, context: { javaScriptEnabled: false } });
  for (const what of await unread(page, ["noscript p"])) fault(label, what);
  await fits(page, label);
  await context.close();
}
