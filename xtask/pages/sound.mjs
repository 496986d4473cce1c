// Proves that check.mjs sees what it looks for: gives it a page that is all wrong, and ends with 1 if a fault was not found.
//
//   node sound.mjs FOLDER      where check.mjs is
//
// Judges no page of knee.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

const WRONG = `<!doctype html><html><head><title>Wrong</title><style>
  html { background: #222; } body { background: #222; color: #333; } button:focus { outline: none; box-shadow: none; }
</style></head><body><img src="https://elsewhere.test/a.png"><div style="width: 5000px">wide</div><button></button>
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
  "shapes have no colour",
];

const folder = mkdtempSync(join(tmpdir(), "knee-pages-"));
writeFileSync(join(folder, "wrong.html"), WRONG);
const { stdout, status } = spawnSync(process.execPath, [join(process.argv[2], "check.mjs"), folder, folder], { encoding: "utf8" });
rmSync(folder, { recursive: true });
const missed = EXPECTED.filter((what) => !stdout.includes(what));
for (const what of missed) console.log(`not found in a page that has it: ${what}`);
if (missed.length > 0) console.log(stdout);
process.exitCode = missed.length > 0 || status !== 1 ? 1 : 0;
