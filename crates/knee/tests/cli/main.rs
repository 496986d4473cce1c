//! The program as its users meet it: the real binary, a real server that counts, exit codes, files.
//!
//! What a run says of itself depends on the build: one without optimizations is invalid by design and
//! ends with 120. So no test expects a code of its own; [`program::Finished::ended_as_it_says`] holds
//! the code against the verdict and the ending in the run's own record. Which code belongs to which
//! is tested beside `exit_of`, and that the build is the only reason to be had by `debug_build`.
//!
//! Nothing leaves this machine. A watchdog ends what hangs; no test asserts how long something took,
//! except that a second signal is obeyed before a server that never answers would be given up.

#![cfg(unix)]
#![allow(missing_docs, reason = "a test binary")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "whatever fails here fails the test")]

mod program;
mod record;
mod server;

mod archives;
mod attacks;
mod audit;
mod bad_input;
mod big_record;
mod browser;
mod compare;
mod control;
mod cut_off;
mod demo;
mod doctor;
mod documents;
mod examples;
mod finding;
mod flags;
mod fleet;
mod history;
mod hostile_names;
mod hostile_text;
mod killed_study;
mod labs;
mod later;
mod live_series;
mod main_path;
mod merge;
mod modules;
mod outputs;
mod own_faults;
mod permissions;
mod proxy;
mod pushes;
mod screen;
mod script;
mod script_memory;
mod search;
mod secrets;
mod serve;
mod signals;
mod statements;
mod streams;
mod study;
mod sweep;
mod swept_study;
mod tour;
mod viewers;
mod web;
