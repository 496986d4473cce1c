// Stops a load on its live page, and prints when the button was pressed, in seconds since 1970.
//
//   node stop.mjs URL      the live page of an owner
//
// Judges nothing.

import { chromium } from "playwright-core";

/** The load must have begun, or there is nothing to stop. */
const BEGUN_MS = 3_000;

const browser = await chromium.launch({ executablePath: process.env.KNEE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.goto(process.argv[2]);
await page.locator("#stop").waitFor();
await page.waitForTimeout(BEGUN_MS);
const pressed = page.evaluate(
  () => new Promise((done) => document.getElementById("stop").addEventListener("click", () => done(performance.timeOrigin + performance.now()), { capture: true })),
);
await page.locator("#stop").click();
console.log((await pressed) / 1_000);
await page.waitForFunction(() => document.getElementById("connection").textContent.startsWith("run ended"));
await browser.close();
