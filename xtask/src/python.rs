//! Programs from `PyPI`, each in a Python environment of its own below `target`.
//!
//! Installs what it is given, with its versions, and nothing outside of that folder. Does not run the programs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The least Python that will do.
const PYTHON: (u32, u32) = (3, 10);

/// The program `name`, installed below `target` from `requirements` (the text of a requirements.txt) if it is not there; or why
/// there is none.
pub fn installed(root: &Path, name: &str, requirements: &str) -> Result<Result<PathBuf, String>> {
    if std::env::var_os("KNEE_WITHOUT_PYTHON").is_some_and(|value| value == "1") {
        return Ok(Err("the environment says that this machine has no Python".to_owned()));
    }
    let Some(python) = ["python3", "python"].into_iter().find(|name| is_enough(name)) else {
        return Ok(Err(format!("there is no Python {}.{} or newer here", PYTHON.0, PYTHON.1)));
    };
    let folder = root.join("target").join(name);
    let program = folder.join("bin").join(name);
    let installed = folder.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) && program.is_file() {
        return Ok(Ok(program));
    }
    println!("installing {name} into {}", folder.display());
    install(python, &folder, requirements).with_context(|| {
        format!(
            "{name} cannot be installed; it needs the module venv of Python (Debian: apt-get install \
             python3-venv) and, once, the network. KNEE_WITHOUT_PYTHON=1 leaves it out"
        )
    })?;
    fs::write(installed, requirements)?;
    Ok(Ok(program))
}

fn install(python: &str, folder: &Path, requirements: &str) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    run(Command::new(python).args(["-m", "venv"]).arg(folder))?;
    let wanted = folder.join("requirements.txt");
    fs::write(&wanted, requirements)?;
    let mut pip = Command::new(folder.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    run(pip.arg("--requirement").arg(wanted))
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_owned();
    let status = command.status().with_context(|| format!("cannot run {}", name.display()))?;
    if !status.success() {
        let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        bail!("`{} {}` ended with {status}", name.display(), words.join(" "));
    }
    Ok(())
}

/// Whether there is such a Python, and new enough.
fn is_enough(name: &str) -> bool {
    let script = "import sys; print('%d %d' % sys.version_info[:2])";
    let Ok(output) = Command::new(name).args(["-c", script]).output() else { return false };
    version(&String::from_utf8_lossy(&output.stdout)).is_some_and(|version| version >= PYTHON)
}

fn version(said: &str) -> Option<(u32, u32)> {
    let (major, minor) = said.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_is_enough_by_its_version_as_numbers() {
        assert!(version("3 11\n").unwrap() >= PYTHON);
        assert!(version("3 9\n").unwrap() < PYTHON);
        assert_eq!(version("no such thing"), None);
        assert!(!is_enough("a-python-that-nobody-has"));
    }
}
