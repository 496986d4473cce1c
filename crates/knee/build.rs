//! Tells the program which commit it was built from, if there is a repository to ask.
//!
//! Does nothing else; a build from an archive simply does not know.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let asked = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = asked.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    if let Some(commit) = commit.and_then(|commit| String::from_utf8(commit).ok()) {
        println!("cargo::rustc-env=KNEE_COMMIT={}", commit.trim());
    }
}
