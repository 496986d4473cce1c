//! What a check covers: packages, and the features behind which tests have their needs.
//!
//! A test that needs more than Rust is `ignore`d unless a feature of its package is on: `postgres-tests`, `redis-tests`,
//! `store-tests` (both), `mount-tests`, `nginx-tests`, `pgbouncer-tests`, `nats-tests`, `browser-tests` and
//! `python-tests`. Does not look for the programs: the environment says what is missing, and a test that misses one all
//! the same fails.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use cargo_metadata::{MetadataCommand, Package};

/// What is tried, and what is not.
pub struct Scope {
    /// For cargo: packages and features.
    arguments: Vec<String>,
    /// What is not tried, apart from tests.
    left_out: Vec<String>,
    leaves_tests_out: bool,
}

/// What this machine has for tests.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a server or a right that a machine has or lacks")]
struct Means {
    postgres: bool,
    redis: bool,
    mounts: bool,
    nginx: bool,
    pgbouncer: bool,
    nats: bool,
    browser: bool,
    python: bool,
}

impl Scope {
    /// Everything, or with `fast` the product alone.
    pub fn new(root: &Path, fast: bool) -> Result<Self> {
        let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
        let (labs, product): (Vec<&Package>, Vec<&Package>) = metadata
            .packages
            .iter()
            .partition(|package| package.manifest_path.starts_with(metadata.workspace_root.join("labs")));
        let means = if fast { Means::NONE } else { Means::of_environment() };
        let labs: Vec<&str> = labs.iter().map(|lab| lab.name.as_str()).collect();
        let mut arguments = vec!["--workspace".to_owned()];
        let features = if fast {
            arguments.extend(labs.iter().flat_map(|lab| ["--exclude".to_owned(), (*lab).to_owned()]));
            means.features(&product)
        } else {
            means.features(&metadata.packages.iter().collect::<Vec<_>>())
        };
        if !features.is_empty() {
            arguments.extend(["--features".to_owned(), features.join(",")]);
        }
        let left_out = if fast {
            vec![
                format!("the labs and their OpenAPI documents: {}", labs.join(", ")),
                "licences and advisories of the dependencies (cargo-deny)".to_owned(),
            ]
        } else {
            Vec::new()
        };
        Ok(Self { arguments, left_out, leaves_tests_out: !means.are_all() })
    }

    /// Packages and features, for cargo.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// What is not tried, apart from tests.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Whether some tests are not run.
    pub fn leaves_tests_out(&self) -> bool {
        self.leaves_tests_out
    }
}

impl Means {
    const NONE: Self = Self {
        postgres: false,
        redis: false,
        mounts: false,
        nginx: false,
        pgbouncer: false,
        nats: false,
        browser: false,
        python: false,
    };

    /// Everything that the environment does not deny.
    fn of_environment() -> Self {
        let there = |name: &str| std::env::var_os(name).is_none_or(|value| value != "1");
        Self {
            postgres: there("KNEE_WITHOUT_POSTGRES"),
            redis: there("KNEE_WITHOUT_REDIS"),
            mounts: there("KNEE_WITHOUT_MOUNTS"),
            nginx: there("KNEE_WITHOUT_NGINX"),
            pgbouncer: there("KNEE_WITHOUT_PGBOUNCER"),
            nats: there("KNEE_WITHOUT_NATS"),
            browser: there("KNEE_WITHOUT_BROWSER"),
            python: there("KNEE_WITHOUT_PYTHON"),
        }
    }

    /// Whether nothing is missing.
    const fn are_all(self) -> bool {
        let stores = self.postgres && self.redis && self.pgbouncer;
        stores && self.mounts && self.nginx && self.nats && self.browser && self.python
    }

    /// `PACKAGE/FEATURE` of every feature that these means allow.
    fn features(self, packages: &[&Package]) -> Vec<String> {
        let allowed: BTreeSet<&str> = [
            ("postgres-tests", self.postgres),
            ("redis-tests", self.redis),
            ("store-tests", self.postgres && self.redis),
            ("mount-tests", self.mounts),
            ("nginx-tests", self.nginx),
            ("pgbouncer-tests", self.pgbouncer),
            ("nats-tests", self.nats),
            ("browser-tests", self.browser),
            ("python-tests", self.python),
        ]
        .into_iter()
        .filter_map(|(feature, is_there)| is_there.then_some(feature))
        .collect();
        let of_package = |package: &&Package| {
            let on = package.features.keys().filter(|feature| allowed.contains(feature.as_str()));
            on.map(|feature| format!("{}/{feature}", package.name)).collect::<Vec<_>>()
        };
        packages.iter().flat_map(of_package).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    fn features(means: Means) -> Vec<String> {
        let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec().unwrap();
        means.features(&metadata.packages.iter().collect::<Vec<_>>())
    }

    #[test]
    fn tests_with_stores_are_on_where_every_store_they_need_is_there() {
        let postgres = features(Means { postgres: true, ..Means::NONE });
        assert!(postgres.contains(&"todos/postgres-tests".to_owned()), "{postgres:?}");
        assert!(!postgres.iter().any(|feature| feature.ends_with("/store-tests")), "{postgres:?}");
        let both = features(Means { postgres: true, redis: true, ..Means::NONE });
        assert!(both.contains(&"tickets/store-tests".to_owned()), "{both:?}");
        assert!(!both.iter().any(|feature| feature.ends_with("/mount-tests")), "{both:?}");
        assert_eq!(features(Means::NONE), Vec::<String>::new());
    }

    #[test]
    fn the_fast_check_has_no_lab_and_says_so() {
        let scope = Scope::new(root(), true).unwrap();
        assert!(scope.arguments().windows(2).any(|pair| pair == ["--exclude", "tickets"]));
        assert!(!scope.arguments().contains(&"--features".to_owned()), "{:?}", scope.arguments());
        assert!(scope.left_out()[0].contains("tickets"), "{:?}", scope.left_out());
        assert!(scope.leaves_tests_out());
    }
}
