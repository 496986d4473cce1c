//! The corpora of the fuzz targets: unpacked to be used, packed to be kept.
//!
//! A corpus is kept as `fuzz/corpora/NAME.tar.zst`, without the inputs that reach nothing that others do not. A target
//! without one begins with examples from the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use ignore::WalkBuilder;

use super::inputs_of;

/// Where examples of the input of a target are: its name, a folder, the ending of the files.
const EXAMPLES: [(&str, &str, &str); 6] = [
    ("record_reader", "crates/knee-core/tests/fixtures", "knee"),
    ("study", "labs", "toml"),
    ("typescript", "compat/cases", "ts"),
    ("json", "docs/reference", "json"),
    ("words", "labs", "toml"),
    ("html", "labs", "html"),
];

/// Largest example that is taken.
const EXAMPLE_MAX: u64 = 32 << 10;

/// Makes the inputs of a target: those that are kept, or examples.
pub fn unpack(root: &Path, target: &str) -> Result<()> {
    let folder = inputs_of(root, target);
    fs::create_dir_all(&folder)?;
    let kept = packed(root, target);
    if kept.is_file() {
        let tar = zstd::decode_all(fs::File::open(&kept)?)
            .with_context(|| format!("cannot read {}", kept.display()))?;
        let unpacked = root.join("fuzz/corpus").join(format!("{target}.tar"));
        fs::write(&unpacked, tar)?;
        let mut command = Command::new("tar");
        let status = command.arg("-xf").arg(&unpacked).arg("-C").arg(&folder).status()?;
        fs::remove_file(&unpacked)?;
        ensure!(status.success(), "tar could not unpack {}", kept.display());
        return Ok(());
    }
    for (_, below, ending) in EXAMPLES.iter().filter(|(name, ..)| *name == target) {
        for entry in WalkBuilder::new(root.join(below)).build().filter_map(Result::ok) {
            let is_example = entry.path().extension().is_some_and(|found| found == *ending)
                && entry.metadata().is_ok_and(|data| data.len() <= EXAMPLE_MAX);
            if is_example && let Some(name) = entry.path().file_name() {
                fs::copy(entry.path(), folder.join(name))?;
            }
        }
    }
    Ok(())
}

/// Keeps the inputs of a target that reach something new.
pub fn pack(root: &Path, target: &str) -> Result<()> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["+nightly", "fuzz", "cmin", target, "--", "-max_len=65536"]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "cargo fuzz could not make the corpus of {target} smaller");
    let (folder, kept) = (inputs_of(root, target), packed(root, target));
    let tar = Command::new("tar")
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-cf", "-", "-C"])
        .arg(&folder)
        .arg(".")
        .output()?;
    ensure!(tar.status.success(), "tar could not pack {}", folder.display());
    fs::create_dir_all(kept.with_file_name(""))?;
    fs::write(&kept, zstd::encode_all(&*tar.stdout, 19)?)?;
    Ok(())
}

/// Where the corpus of a target is kept.
fn packed(root: &Path, target: &str) -> PathBuf {
    root.join("fuzz/corpora").join(format!("{target}.tar.zst"))
}
