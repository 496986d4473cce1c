//! Compiles QuickJS once more, with two changes, and links that copy in place of the one in `rquickjs-sys`.
//!
//! The first change leaves out its arenas. QuickJS carves small objects out of pages that belong to one runtime, and
//! every VU has a runtime: half-empty pages would take half as much memory again per VU (decision 0007). Only a macro
//! turns them off, `rquickjs-sys` has no option for it, and a build script cannot set the environment of another one.
//!
//! The second change makes native code interruptible: see `build/polls.rs`.
//!
//! The source is that of the `rquickjs-sys` in use, so both copies have the same functions and structures; the linker
//! takes the first. Does not fail the build: without the source a warning says what it costs.

#![allow(clippy::print_stdout, reason = "cargo reads what a build script prints")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "build/polls.rs"]
mod polls;

/// As `Cargo.toml` pins it.
const VERSION: &str = "0.14.0";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/polls.rs");
    let Some(source) = registry().or_else(vendored) else {
        println!(
            "cargo::warning=the source of rquickjs-sys {VERSION} was not found: every virtual user of a k6 script takes about 60 KB more memory, and a script can stop others by a loop within one call"
        );
        return;
    };
    println!("cargo::rerun-if-changed={}", source.display());
    cc::Build::new()
        .file(changed(&source).unwrap_or_else(|| source.join("quickjs.c")))
        .include(&source)
        // The one thing that QuickJS asks of this macro is to leave the arenas out.
        .define("__SANITIZE_ADDRESS__", "1")
        // As rquickjs-sys compiles it with the features in use.
        .define("_GNU_SOURCE", None)
        .define("NDEBUG", None)
        .extra_warnings(false)
        .warnings(false)
        .compile("knee_quickjs");
}

/// A copy of `quickjs.c` with the polls added.
fn changed(source: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(source.join("quickjs.c")).ok()?;
    let text = match polls::add(&text) {
        Ok(text) => text,
        Err(place) => {
            println!(
                "cargo::warning=QuickJS is not interruptible within one call: no single place for {place}"
            );
            return None;
        }
    };
    let path = PathBuf::from(env::var_os("OUT_DIR")?).join("quickjs.c");
    fs::write(&path, text).ok()?;
    Some(path)
}

/// Where cargo unpacks what comes from a registry.
fn registry() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry/src")).ok()?;
    let package = format!("rquickjs-sys-{VERSION}/quickjs");
    registries.flatten().map(|registry| registry.path().join(&package)).find(|path| is_source(path))
}

/// Where a vendored copy is, as cargo knows it.
fn vendored() -> Option<PathBuf> {
    let metadata = Command::new(env::var_os("CARGO")?)
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .output()
        .ok()?;
    let text = String::from_utf8(metadata.stdout).ok()?;
    let manifests = text.split('"').filter(|piece| piece.ends_with("Cargo.toml"));
    manifests.filter_map(|manifest| Path::new(manifest).parent()).find_map(|package| {
        let is_named = package.file_name()?.to_str()?.starts_with("rquickjs-sys");
        Some(package.join("quickjs")).filter(|path| is_named && is_source(path))
    })
}

fn is_source(folder: &Path) -> bool {
    folder.join("quickjs.c").is_file()
}
