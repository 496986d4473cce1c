// Opens pages of knee in the Firefox of the distribution, over WebDriver BiDi, and prints what is wrong with them: errors and
// messages of the console, requests to other places, no visible heading, a page that is wider than its window.
//
//   node firefox.mjs FOLDER [NAME=URL]...      pages are the files of the folder, if it is not -, and the URLs
//
// A smoke test: check.mjs judges the pages in Chromium. Playwright steers only a Firefox of its own, and so a client of some
// lines is here. Ends with 1 if it found something.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import WebSocket from "ws";

const WIDTHS = [390, 1280];
/** Longest that Firefox takes to start, on a busy machine too. */
const START_MS = 120_000;
/** Longest that a page takes to have its heading. */
const READY_MS = 30_000;
/** A page of a run that goes on never rests; this long it is watched. */
const SETTLE_MS = 1_000;

/** Firefox must not ask for anything by itself, nor open a page that welcomes. */
const PREFERENCES = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "toolkit.telemetry.server": "",
};

let faults = 0;
function fault(page, what) {
  faults += 1;
  console.log(`${page}: ${what}`);
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts Firefox with an empty profile; returns it with the address at which it takes commands. */
async function started() {
  const profile = mkdtempSync(join(tmpdir(), "knee-firefox-"));
  const preferences = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  writeFileSync(join(profile, "user.js"), preferences.join("\n"));
  const options = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"];
  const firefox = spawn(process.env.KNEE_FIREFOX ?? "/usr/bin/firefox-esr", options, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((done) => firefox.on("close", done));
  const address = await new Promise((found, failed) => {
    let said = "";
    setTimeout(() => failed(new Error(`Firefox does not listen:\n${said}`)), START_MS).unref();
    firefox.on("error", failed);
    firefox.stderr.on("data", (bytes) => {
      said += bytes;
      const line = /WebDriver BiDi listening on (ws:\S+)/.exec(said);
      if (line) found(line[1]);
    });
    ended.then(() => failed(new Error(`Firefox has ended:\n${said}`)));
  });
  const remove = async () => {
    await Promise.race([ended, wait(10_000)]);
    if (firefox.exitCode === null) firefox.kill("SIGKILL");
    await ended;
    rmSync(profile, { recursive: true, force: true });
  };
  return { address, remove };
}

/** A session of WebDriver BiDi: commands with their answers, and events. */
class Session {
  constructor(socket, heard) {
    this.socket = socket;
    this.waiting = new Map();
    socket.on("message", (text) => {
      const message = JSON.parse(text);
      if (message.type === "event") {
        heard(message);
        return;
      }
      const { done, failed } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.type === "success") done(message.result);
      else failed(new Error(`${message.error}: ${message.message}`));
    });
  }

  static async open(address, heard) {
    const socket = new WebSocket(`${address}/session`);
    await new Promise((done, failed) => socket.once("open", done).once("error", failed));
    const session = new Session(socket, heard);
    await session.send("session.new", { capabilities: {} });
    await session.send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
    return session;
  }

  send(method, params) {
    this.last = (this.last ?? 0) + 1;
    const answer = new Promise((done, failed) => this.waiting.set(this.last, { done, failed }));
    this.socket.send(JSON.stringify({ id: this.last, method, params }));
    return answer;
  }

  /** The value of an expression in a tab: text, a number or a truth. */
  async value(context, expression) {
    const answer = await this.send("script.evaluate", { expression, target: { context }, awaitPromise: true });
    if (answer.type !== "success") throw new Error(answer.exceptionDetails.text);
    return answer.result.value;
  }
}

/** What a tab should not do. */
function judged(event, label, url) {
  const { method, params } = event;
  if (method === "log.entryAdded" && (params.type === "console" || params.level === "error")) fault(label, `console: ${params.text}`);
  if (method !== "network.beforeRequestSent" || params.context === null) return;
  const to = new URL(params.request.url);
  const isOwn = ["data:", "blob:", "about:"].includes(to.protocol) || to.href === url || (to.protocol !== "file:" && to.origin === new URL(url).origin);
  if (!isOwn) fault(label, `asks for ${to.href}`);
}

/** The text of the first heading that can be seen, or nothing. */
const HEADING = `(() => {
  const heading = document.querySelector("h1");
  const box = heading?.getBoundingClientRect();
  return heading?.checkVisibility() && box.width > 0 && box.height > 0 ? heading.textContent.trim() : "";
})()`;
const TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

async function look(session, watch, name, url) {
  for (const width of WIDTHS) {
    const label = `${name} (Firefox, ${width} px)`;
    const { context } = await session.send("browsingContext.create", { type: "tab" });
    watch.set(context, (event) => judged(event, label, url));
    await session.send("browsingContext.setViewport", { context, viewport: { width, height: 900 } });
    await session.send("browsingContext.navigate", { context, url, wait: "complete" });
    // A page can lead on from the URL with its token.
    const begun = Date.now();
    let heading = "";
    while (heading === "" && Date.now() - begun < READY_MS) {
      heading = await session.value(context, HEADING).catch(() => "");
      if (heading === "") await wait(100);
    }
    if (heading === "") fault(label, "its first heading cannot be seen");
    if (url.startsWith("http")) await wait(SETTLE_MS);
    const wide = await session.value(context, TOO_WIDE);
    if (wide > 0) fault(label, `${wide} px wider than its window`);
    await session.send("browsingContext.close", { context });
    watch.delete(context);
  }
}

const [folder, ...urls] = process.argv.slice(2);
const files = (folder === "-" ? [] : readdirSync(folder)).filter((file) => file.endsWith(".html")).sort();
const pages = files.map((file) => [basename(file, ".html"), pathToFileURL(resolve(folder, file)).href]);
pages.push(...urls.map((named) => [named.slice(0, named.indexOf("=")), named.slice(named.indexOf("=") + 1)]));
const { address, remove } = await started();
const watch = new Map();
try {
  const session = await Session.open(address, (event) => {
    const context = event.params.context ?? event.params.source?.context;
    watch.get(context)?.(event);
  });
  for (const [name, url] of pages) await look(session, watch, name, url);
  await session.send("browser.close", {});
} finally {
  await remove();
}
console.log(`${pages.length} pages in Firefox, ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
