//! Settings of PostgreSQL as lines of its configuration, and which of them are the fixture's own.
//!
//! Does not know which settings exist; the server says so when it starts.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::fixture::Setting;

use crate::error::Error;

/// Settings that the fixture sets, because it must find the server and its log.
const RESERVED: [&str; 12] = [
    "port",
    "listen_addresses",
    "unix_socket_directories",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "external_pid_file",
    "logging_collector",
    "log_destination",
    "primary_conninfo",
    "primary_slot_name",
];

/// Extensions that do nothing, or cannot be created, unless they are loaded when the server starts.
const PRELOADED: [&str; 18] = [
    "pg_stat_statements",
    "pg_cron",
    "timescaledb",
    "citus",
    "pgaudit",
    "pg_wait_sampling",
    "pg_stat_kcache",
    "pg_stat_monitor",
    "pg_qualstats",
    "pg_hint_plan",
    "pg_partman_bgw",
    "pg_squeeze",
    "pg_net",
    "pgsodium",
    "pglogical",
    "pg_prewarm",
    "set_user",
    "pg_tle",
];

/// The lines of a configuration, ours last. `at` names the table in an error.
pub(crate) fn lines(
    settings: &BTreeMap<String, Setting>,
    extensions: &[String],
    ours: &[(&str, String)],
    at: &str,
) -> Result<String, Error> {
    let mut text = String::new();
    let mut preloaded: Vec<String> = Vec::new();
    for (name, value) in settings {
        let value = text_of(value);
        check(name, &value, at)?;
        if name == "shared_preload_libraries" {
            preloaded.extend(value.split(',').map(|library| library.trim().to_owned()));
        } else {
            line(&mut text, name, &value);
        }
    }
    preloaded.extend(extensions.iter().filter(|name| PRELOADED.contains(&name.as_str())).cloned());
    // What the study declares can also be asked for.
    let mut seen = BTreeSet::new();
    preloaded.retain(|library| !library.is_empty() && seen.insert(library.clone()));
    if !preloaded.is_empty() {
        line(&mut text, "shared_preload_libraries", &preloaded.join(","));
    }
    for (name, value) in ours {
        line(&mut text, name, value);
    }
    Ok(text)
}

/// A value in the syntax of PostgreSQL and Redis.
pub(crate) fn text_of(value: &Setting) -> String {
    match value {
        Setting::Bool(true) => "on".to_owned(),
        Setting::Bool(false) => "off".to_owned(),
        Setting::Int(number) => number.to_string(),
        Setting::Float(number) => number.to_string(),
        Setting::Text(text) => text.clone(),
    }
}

fn check(name: &str, value: &str, at: &str) -> Result<(), Error> {
    let at = format!("{at}.{name}");
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if name.is_empty() || !name.chars().all(fits) {
        return Err(Error::declared(at, "is not the name of a setting"));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Error::declared(at, "is set by the fixture"));
    }
    if value.contains(['\n', '\r', '\0']) {
        return Err(Error::declared(at, "has more than one line"));
    }
    Ok(())
}

fn line(text: &mut String, name: &str, value: &str) {
    let value = value.replace('\\', "\\\\").replace('\'', "''");
    text.extend([name, " = '", &value, "'\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, Setting)]) -> BTreeMap<String, Setting> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn settings_become_quoted_lines_and_extensions_are_preloaded() {
        let settings = settings(&[
            ("fsync", Setting::Bool(false)),
            ("max_connections", Setting::Int(50)),
            ("search_path", Setting::Text("o'x\\".into())),
            ("shared_preload_libraries", Setting::Text("auto_explain".into())),
        ]);
        let twice = "pg_stat_statements".to_owned();
        let extensions = [twice.clone(), "hstore".to_owned(), twice];
        let text = lines(&settings, &extensions, &[("cluster_name", "a".into())], "x").unwrap();
        assert_eq!(
            text,
            "fsync = 'off'\nmax_connections = '50'\nsearch_path = 'o''x\\\\'\n\
             shared_preload_libraries = 'auto_explain,pg_stat_statements'\ncluster_name = 'a'\n"
        );
    }

    #[test]
    fn settings_of_the_fixture_and_what_would_break_the_file_are_refused() {
        for (name, value) in [("Port", "1"), ("a b", "1"), ("", "1"), ("work_mem", "1\nport = 2")] {
            let settings = settings(&[(name, Setting::Text(value.into()))]);
            assert!(lines(&settings, &[], &[], "x").is_err(), "{name} {value}");
        }
    }
}
