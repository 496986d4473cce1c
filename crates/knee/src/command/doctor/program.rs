//! Looks for programs that studies, fleets and examples start, and for their versions.
//!
//! Installs nothing: names the package of Debian and Ubuntu.

use std::path::Path;
use std::process::{Command, Stdio};

use knee_core::fitness::Program;
use knee_fixture::{find_program, find_stores};

/// A program that knee, its examples or its checks start if it is there.
struct Known {
    /// Its name on PATH.
    name: &'static str,
    /// What makes it print its version.
    version: &'static str,
    /// What cannot be done without it.
    needed_for: &'static str,
    /// How to install it.
    install: &'static str,
}

const PROGRAMS: [Known; 3] = [
    Known {
        name: "k6",
        version: "version",
        needed_for: "knee and k6 cannot be compared (`cargo xtask compat`); knee runs k6 scripts without it",
        install: "install the package `k6` from https://grafana.com/docs/k6; Debian and Ubuntu have none",
    },
    Known {
        name: "nginx",
        version: "-v",
        needed_for: "`examples/tls.sh` cannot start its server; knee itself does not need it",
        install: "install the package `nginx`",
    },
    Known {
        name: "nats-server",
        version: "--version",
        needed_for: "a fleet (`knee agent`) needs a NATS server, here or elsewhere, as in `examples/fleet/up`",
        install: "install the package `nats-server`",
    },
];

/// All programs, those that are missing too.
pub(super) fn all() -> Vec<Program> {
    let stores = find_stores().into_iter().map(|(name, found)| match found {
        Ok(path) => Program { name, version: Some(version(&path, "--version")), ..Program::default() },
        Err(error) => Program {
            name,
            version: None,
            needed_for: "studies that declare it cannot start it",
            install: error.hint(),
        },
    });
    let others = PROGRAMS.iter().map(|known| Program {
        name: known.name,
        version: find_program(known.name).map(|path| version(&path, known.version)),
        needed_for: known.needed_for,
        install: known.install.to_owned(),
    });
    stores.chain(others).collect()
}

/// The version that a program prints when it is called with `word`.
fn version(program: &Path, word: &str) -> String {
    let printed = Command::new(program).arg(word).stdin(Stdio::null()).output();
    let found = printed.ok().and_then(|output| {
        // nginx writes to stderr.
        let both = [output.stdout, output.stderr].concat();
        version_in(&String::from_utf8_lossy(&both))
    });
    found.unwrap_or_else(|| "found; it does not say its version".to_owned())
}

/// The first number with a dot, as in `Redis server v=7.0.15` and `nginx/1.18.0`.
fn version_in(text: &str) -> Option<String> {
    let number = |word: &str| {
        let from = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
        let number = &from[..end.unwrap_or(from.len())];
        number.contains('.').then(|| number.trim_end_matches('.').to_owned())
    };
    text.split_ascii_whitespace().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_programs_print_them() {
        let printed = [
            ("postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)", "15.8"),
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "7.0.15"),
            ("k6 v0.57.0 (commit/50afd82c18, go1.23.6, linux/amd64)", "0.57.0"),
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
            ("nats-server: v2.10.7\n", "2.10.7"),
        ];
        for (text, expected) in printed {
            assert_eq!(version_in(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(version_in("no such flag"), None);
    }

    #[test]
    fn every_program_says_what_needs_it_and_which_package_has_it() {
        for known in PROGRAMS {
            assert!(
                !known.needed_for.is_empty() && known.install.contains("the package `"),
                "{}",
                known.name
            );
        }
    }
}
