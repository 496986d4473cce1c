//! Finds programs, their versions, and the command that installs a missing one.
//!
//! Looks on PATH first, then where the packages of Debian, of the PostgreSQL project, of Homebrew and of
//! Postgres.app put programs that are not on PATH. `KNEE_POSTGRES` names the folder of another PostgreSQL, and then
//! only that one counts. Does not install anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;

/// Folders of PostgreSQL's programs off the PATH; `*` stands for one part of a name.
const POSTGRES_FOLDERS: [&str; 6] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/// Programs of PostgreSQL that a cluster needs; they must be in one folder, because they look for one another there.
const POSTGRES_PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_basebackup"];

/// The variable that names the folder of the programs of PostgreSQL.
const POSTGRES_FOLDER: &str = "KNEE_POSTGRES";

/// Programs that the folder of [`POSTGRES_FOLDER`] must have. Not `pg_basebackup`: only replicas need it, and packages
/// with nothing but the server have none.
const NAMED_PROGRAMS: [&str; 2] = ["initdb", "postgres"];

/// Folders of Redis and Valkey off the PATH.
const REDIS_FOLDERS: [&str; 4] =
    ["/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/sbin"];

/// An installed PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    /// The folder of its programs.
    pub(crate) bin: PathBuf,
    /// Its major version.
    pub(crate) version: u32,
}

/// The PostgreSQL of the folder that a variable names. Without one, that on PATH, if it is new enough, and else the
/// newest one found.
pub(crate) fn postgres(least: Option<u32>) -> Result<Installed, Error> {
    let named = std::env::var_os(POSTGRES_FOLDER).filter(|folder| !folder.is_empty());
    let least_version = least.unwrap_or(0);
    named.map_or_else(|| found(least_version), |folder| named_postgres(PathBuf::from(folder), least_version))
}

/// The PostgreSQL in a folder that the user named.
fn named_postgres(folder: PathBuf, least: u32) -> Result<Installed, Error> {
    // Its programs are started in other folders than this one.
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let shown = folder.display().to_string();
    let Some(installed) = installed(folder, &NAMED_PROGRAMS) else {
        let text = format!("names `{shown}`, which has no `initdb` and `postgres` that can be run");
        return Err(Error::declared(POSTGRES_FOLDER, text));
    };
    if installed.version < least {
        let text =
            format!("names PostgreSQL {} in `{shown}`: at least {least} is required", installed.version);
        return Err(Error::declared(POSTGRES_FOLDER, text));
    }
    Ok(installed)
}

/// The PostgreSQL on PATH, if it is new enough, and else the newest one found.
fn found(least: u32) -> Result<Installed, Error> {
    let mut found: Vec<Installed> = on_path("postgres")
        .into_iter()
        .chain(matching_all(&POSTGRES_FOLDERS))
        .filter_map(|folder| installed(folder, &POSTGRES_PROGRAMS))
        .collect();
    if let Some(first) = found.first().filter(|first| first.version >= least) {
        return Ok(first.clone());
    }
    found.sort_by_key(|one| one.version);
    let Some(newest) = found.pop() else {
        return Err(Error::ProgramMissing {
            program: "PostgreSQL (`initdb`, `postgres` and `pg_basebackup` in one folder)".to_owned(),
            looked: POSTGRES_FOLDERS.map(str::to_owned).to_vec(),
            install: install_postgres(None),
        });
    };
    if newest.version >= least {
        return Ok(newest);
    }
    Err(Error::Version {
        program: "PostgreSQL".to_owned(),
        found: newest.version,
        least,
        path: newest.bin,
        install: install_postgres(Some(least)),
    })
}

/// The server programs that studies can start, by name: the path, or why there is none.
pub fn find_stores() -> [(&'static str, Result<PathBuf, Error>); 2] {
    [("PostgreSQL", postgres(None).map(|found| found.bin.join("postgres"))), ("Redis", redis())]
}

/// The first program of this name on PATH, with links followed as far as its folder.
pub fn find_program(name: &str) -> Option<PathBuf> {
    on_path(name).first().map(|folder| folder.join(name)).filter(|path| path.is_file())
}

/// The Redis or Valkey server.
pub(crate) fn redis() -> Result<PathBuf, Error> {
    let names = ["redis-server", "valkey-server"];
    let on_path =
        names.iter().flat_map(|name| on_path(name).into_iter().map(move |folder| folder.join(name)));
    let elsewhere =
        names.iter().flat_map(|name| REDIS_FOLDERS.iter().map(move |place| Path::new(place).join(name)));
    on_path.chain(elsewhere).find(|path| path.is_file()).ok_or_else(|| Error::ProgramMissing {
        program: "Redis (`redis-server` or `valkey-server`)".to_owned(),
        looked: REDIS_FOLDERS.map(str::to_owned).to_vec(),
        install: install("redis-server", "redis", "redis"),
    })
}

/// The folders of PATH that have `program`, with links followed: beside a link there is often nothing else.
fn on_path(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path).filter_map(|folder| fs::canonicalize(folder.join(program)).ok());
    real.filter(|file| file.is_file()).filter_map(|file| Some(file.parent()?.to_owned())).collect()
}

/// The PostgreSQL in a folder, if it has all of these programs.
fn installed(bin: PathBuf, programs: &[&str]) -> Option<Installed> {
    if !programs.iter().all(|name| bin.join(name).is_file()) {
        return None;
    }
    let said = Command::new(bin.join("postgres")).arg("--version").stdin(Stdio::null()).output().ok()?;
    let version = major(&String::from_utf8_lossy(&said.stdout))?;
    Some(Installed { bin, version })
}

/// The major version in `postgres (PostgreSQL) 17.2 (Debian 17.2-1)`.
fn major(text: &str) -> Option<u32> {
    let number = text.split_once("(PostgreSQL) ")?.1;
    number[..number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len())].parse().ok()
}

/// Folders that fit the patterns, newest version first.
fn matching_all(patterns: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = patterns.iter().flat_map(|pattern| matching(pattern)).collect();
    found.sort();
    found.reverse();
    found
}

/// Folders that fit a pattern with one part that has a `*`.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return Vec::new() };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let after = after.trim_start_matches('/');
    named.map(|entry| entry.path().join(after)).filter(|path| path.is_dir()).collect()
}

fn install_postgres(version: Option<u32>) -> String {
    let Some(version) = version else { return install("postgresql", "postgresql-server", "postgresql") };
    let line = install(
        &format!("postgresql-{version}"),
        &format!("postgresql{version}-server"),
        &format!("postgresql@{version}"),
    );
    format!("{line} (packages of every version: https://www.postgresql.org/download)")
}

/// The line that installs a package on this platform, by its name for apt-get, dnf and brew.
fn install(apt: &str, dnf: &str, brew: &str) -> String {
    let has = |program: &str| !on_path(program).is_empty();
    if has("apt-get") {
        format!("install it with `sudo apt-get install -y {apt}`")
    } else if has("dnf") {
        format!("install it with `sudo dnf install -y {dnf}`")
    } else if has("brew") {
        format!("install it with `brew install {brew}`")
    } else {
        format!("install its package, which is `{apt}` on Debian, `{dnf}` on Fedora and `{brew}` on Homebrew")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_postgres_says() {
        let cases = [
            ("postgres (PostgreSQL) 17.2 (Debian 17.2-1.pgdg120+1)", Some(17)),
            ("postgres (PostgreSQL) 18beta1", Some(18)),
            ("postgres (PostgreSQL) 16", Some(16)),
            ("postgres (EnterpriseDB) 16", None),
        ];
        for (text, expected) in cases {
            assert_eq!(major(text), expected, "{text}");
        }
    }

    #[test]
    fn folders_of_packages_are_found_by_pattern() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["pg-15/bin", "pg-16/bin", "pg-17", "other/bin"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let pattern = format!("{}/pg-*/bin", folder.path().display());
        let found = matching_all(&[&pattern]);
        assert_eq!(found, [folder.path().join("pg-16/bin"), folder.path().join("pg-15/bin")]);
    }

    #[test]
    fn a_folder_without_all_programs_of_postgres_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("postgres"), "").unwrap();
        assert_eq!(installed(folder.path().to_owned(), &POSTGRES_PROGRAMS), None);
    }

    #[test]
    fn a_folder_that_the_user_names_is_used_without_the_program_for_replicas_or_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = named_postgres(folder.path().to_owned(), 0).unwrap_err().to_string();
        assert!(error.starts_with("`KNEE_POSTGRES` names ") && error.contains("no `initdb`"), "{error}");
        // Written by another process: a program that this one has open for writing cannot be run.
        let write =
            "printf '#!/bin/sh\\necho \"postgres (PostgreSQL) 13.23\"\\n' > \"$0\" && chmod 755 \"$0\"";
        for name in NAMED_PROGRAMS {
            let mut shell = Command::new("sh");
            assert!(shell.args(["-c", write]).arg(folder.path().join(name)).status().unwrap().success());
        }
        let expected = Installed { bin: folder.path().to_owned(), version: 13 };
        assert_eq!(named_postgres(folder.path().to_owned(), 13).unwrap(), expected);
        let relative = named_postgres(PathBuf::from("no-such-folder"), 0).unwrap_err().to_string();
        assert!(relative.contains("/no-such-folder`"), "{relative}");
        let error = named_postgres(folder.path().to_owned(), 14).unwrap_err().to_string();
        assert!(error.ends_with("at least 14 is required"), "{error}");
    }
}
