// Proves that check.mjs and firefox.mjs see what they look for: gives them a page that is all wrong, and ends with 1 if a fault
// was not found.
//
//   node sound.mjs FOLDER      where they are
//
// Judges no page of knee.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

const WRONG = `<!doctype html><html><head><title>Wrong</title><style>
  html { background: #222; } body { background: #222; color: #333; } button:focus { outline: none; box-shadow: none; }
  .scroll { overflow: auto; }
</style></head><body><h1>Wrong</h1><p class="answer" hidden>nobody reads this</p>
<div class="scroll" style="height: 50px"><table><tr><td>a</td></tr></table></div>
<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==">
<img src="https://elsewhere.test/a.png"><div style="width: 5000px">wide</div><button></button>
<svg width="9" height="9"><path d="M0 0L9 9" stroke="none" fill="none"></path></svg>
<script>console.log("hello"); undefinedName;</script></body></html>`;

const EXPECTED = [
  "px wider than its window",
  "axe image-alt",
  "axe color-contrast",
  "axe html-has-lang",
  "console: hello",
  "script: undefinedName",
  "asks for https://elsewhere.test/a.png",
  "focus is invisible on <button>",
  "prints a dark ground",
  "rows of tables can be cut",
  "raster images are in the PDF",
  "shapes have no colour",
  "wrong (blocked): 1 of .answer cannot be read",
  "wrong (blocked): there is no .trust .verdict",
  "wrong (blocked): axe ",
];

const EXPECTED_IN_FIREFOX = [
  "px wider than its window",
  "console: hello",
  "console: ReferenceError: undefinedName",
  "asks for https://elsewhere.test/a.png",
  "its first heading cannot be seen",
];

/** Has a script look at the wrong page; returns whether it found all of that. */
function found(script, page, expected) {
  const folder = mkdtempSync(join(tmpdir(), "knee-pages-"));
  writeFileSync(join(folder, "wrong.html"), page);
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(process.argv[2], script), folder, ...(script === "check.mjs" ? [folder] : [])], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  const missed = expected.filter((what) => !stdout.includes(what));
  for (const what of missed) console.log(`${script} does not find in a page that has it: ${what}`);
  if (missed.length > 0) console.log(stdout, stderr);
  return missed.length === 0 && status === 1;
}

const isSound = [
  found("check.mjs", WRONG, EXPECTED),
  !process.env.KNEE_FIREFOX || found("firefox.mjs", WRONG.replace("<h1>", '<h1 style="display: none">'), EXPECTED_IN_FIREFOX),
];
process.exitCode = isSound.every(Boolean) ? 0 : 1;
