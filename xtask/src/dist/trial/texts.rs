//! Completions and manual pages, read by the programs that they are for.
//!
//! A shell that is not installed is left out, and that is said. Does not judge their words.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::tool;

/// What each shell does with its completions, and what it must print then.
const SHELLS: [(&str, &str, &str); 3] = [
    ("bash", "source \"$0/knee\" && complete -p knee", "complete"),
    ("zsh", "fpath=(\"$0\" $fpath); autoload -Uz compinit && compinit -u -D && echo $_comps[knee]", "_knee"),
    ("fish", "source $argv[1]/knee.fish; complete -C 'knee swee'", "sweep"),
];

/// Reads all of them.
pub fn read(texts: &Path) -> Result<()> {
    let completions = texts.join("completions");
    for (shell, script, expected) in SHELLS {
        if !is_installed(shell) {
            println!("dist: completions for {shell} were not tried: it is not installed");
            continue;
        }
        let said = tool::output(Command::new(shell).args(["-c", script]).arg(&completions))?;
        ensure!(said.contains(expected), "{shell} does not complete:\n{said}");
    }
    if !is_installed("man") {
        println!("dist: manual pages were not tried: man is not installed");
        return Ok(());
    }
    for entry in std::fs::read_dir(texts.join("man"))? {
        let page = entry?.path();
        let mut man = Command::new("man");
        let done = man.args(["--warnings", "-E", "UTF-8", "-l"]).arg(&page).env("MANWIDTH", "80").output()?;
        let warnings = String::from_utf8_lossy(&done.stderr);
        let shown = String::from_utf8_lossy(&done.stdout);
        let name = page.file_name().context("a manual page has no name")?.to_string_lossy();
        ensure!(done.status.success() && warnings.is_empty(), "{name}: {warnings}");
        ensure!(shown.contains("NAME") && shown.contains("knee"), "{name} shows nothing:\n{shown}");
    }
    Ok(())
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}
