#!/usr/bin/env node
// Starts the program of this platform, which is in a package of its own, and ends as it ends.
'use strict';
const { spawn } = require('node:child_process');

const name = `knee-load-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/knee`);
} catch {
  console.error(`error: knee has no program for ${process.platform} on ${process.arch}`);
  console.error('\nhint: build it from source, or install without --no-optional');
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// What is sent to this process is meant for the program.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`error: ${program}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + require('node:os').constants.signals[signal] : code));
