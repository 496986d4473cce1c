//! What can be watched, as it is written on the command line.
//!
//! Does not connect to anything. Messages never contain a password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use knee_core::observation::SourceKind;
use url::Url;

use crate::text::{decoded, harmless};
use crate::tls;

/// What is to be watched.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// This machine.
    Host,
    /// A process with its descendants.
    Process(u32),
    /// The functions in which a process with its descendants spends its CPU time.
    Profile(u32),
    /// A PostgreSQL server, by a URL that `tokio_postgres` understands.
    Postgres(Url),
    /// A Redis or Valkey server.
    Redis(Url),
    /// A page of metrics in the text format of Prometheus.
    Prometheus(Url),
    /// A SQLite file.
    Sqlite(PathBuf),
    /// The admin console of a PgBouncer.
    PgBouncer(Url),
    /// The page `stub_status` of an nginx.
    Nginx(Url),
}

/// Why a text is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It begins with nothing that is known.
    #[error("`{0}` is no target to observe")]
    Unknown(String),
    /// The number of a process is missing or none.
    #[error("`{0}` is no process id")]
    Process(String),
    /// The number of a process that is to be profiled is missing or none.
    #[error("`{0}` is no process id")]
    Profile(String),
    /// The URL cannot be read.
    #[error("the address to observe is no {scheme} URL with a host: {reason}")]
    Url {
        /// What it must begin with.
        scheme: &'static str,
        /// Why.
        reason: String,
    },
    /// Its parameters of TLS contradict each other or its scheme, or one of them is unknown.
    #[error("the address to observe cannot be used with TLS: {0}")]
    Tls(String),
    /// The path is empty.
    #[error("`sqlite:` needs the path of a file")]
    Path,
}

impl TargetError {
    /// What to write instead.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unknown(_) => {
                "write host, pid:NUMBER, profile:NUMBER, postgres://…, redis://…, rediss://…, sqlite:PATH, pgbouncer://…, \
                 nginx:http://… or prometheus:http://…"
            }
            Self::Process(_) => "write pid:NUMBER, with the id of a running process",
            Self::Profile(_) => "write profile:NUMBER, with the id of a running process",
            Self::Url { .. } => "encode characters such as @ and / in a password as %40 and %2F",
            Self::Tls(_) => {
                "write sslmode=disable, prefer, require, verify-ca or verify-full, and PEM files as sslrootcert, \
                 sslcert and sslkey"
            }
            Self::Path => "write sqlite:/path/to/file.db",
        }
    }
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// If the text is none. The message does not contain the text of a URL.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        if text == "host" {
            return Ok(Self::Host);
        }
        let unknown = || TargetError::Unknown(shown(text));
        let (scheme, rest) = text.split_once(':').ok_or_else(unknown)?;
        match scheme {
            "pid" => pid(rest).map(Self::Process).ok_or_else(|| TargetError::Process(shown(rest))),
            "profile" => pid(rest).map(Self::Profile).ok_or_else(|| TargetError::Profile(shown(rest))),
            "postgres" | "postgresql" => database_url(text, "postgres://").map(Self::Postgres),
            "pgbouncer" => database_url(text, "pgbouncer://").map(Self::PgBouncer),
            "redis" | "valkey" => cache_url(&format!("redis:{rest}"), "redis://").map(Self::Redis),
            "rediss" | "valkeys" => cache_url(&format!("rediss:{rest}"), "rediss://").map(Self::Redis),
            "prometheus" => page_url(rest, "prometheus:http://").map(Self::Prometheus),
            "nginx" => page_url(rest, "nginx:http://").map(Self::Nginx),
            "sqlite" if rest.is_empty() => Err(TargetError::Path),
            "sqlite" => Ok(Self::Sqlite(PathBuf::from(rest))),
            _ => Err(unknown()),
        }
    }

    /// What kind of source it is.
    pub const fn kind(&self) -> SourceKind {
        match self {
            Self::Host => SourceKind::Host,
            Self::Process(_) => SourceKind::Process,
            Self::Profile(_) => SourceKind::Profile,
            Self::Postgres(_) => SourceKind::Postgres,
            Self::Redis(_) => SourceKind::Redis,
            Self::Prometheus(_) => SourceKind::Prometheus,
            Self::Sqlite(_) => SourceKind::Sqlite,
            Self::PgBouncer(_) => SourceKind::PgBouncer,
            Self::Nginx(_) => SourceKind::Nginx,
        }
    }

    /// Its name in reports: without user, password and parameters.
    pub fn name(&self) -> String {
        match self {
            Self::Host => "host".to_owned(),
            Self::Process(pid) => format!("pid {pid}"),
            Self::Profile(pid) => format!("profile of pid {pid}"),
            Self::Sqlite(path) => harmless(&path.display().to_string()),
            Self::Postgres(url)
            | Self::Redis(url)
            | Self::PgBouncer(url)
            | Self::Prometheus(url)
            | Self::Nginx(url) => public(url),
        }
    }

    /// What must not appear in any message.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let (Self::Postgres(url)
        | Self::Redis(url)
        | Self::PgBouncer(url)
        | Self::Prometheus(url)
        | Self::Nginx(url)) = self
        else {
            return Vec::new();
        };
        let mut secrets: Vec<String> = url.password().map(str::to_owned).into_iter().collect();
        secrets.extend(
            url.query_pairs().filter(|(name, _)| name == "password").map(|(_, value)| value.into_owned()),
        );
        let decoded = secrets.iter().map(|secret| decoded(secret));
        let decoded: Vec<String> = decoded.collect();
        secrets.extend(decoded);
        secrets.retain(|secret| !secret.is_empty());
        secrets
    }
}

/// Without passwords.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.name())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse(text)
    }
}

/// The number of a process.
fn pid(text: &str) -> Option<u32> {
    text.parse::<u32>().ok().filter(|pid| *pid > 0 && i32::try_from(*pid).is_ok())
}

fn database_url(text: &str, scheme: &'static str) -> Result<Url, TargetError> {
    let url = url(text, &["postgres", "postgresql", "pgbouncer"], scheme)?;
    tls::of_database(&url).map_err(TargetError::Tls)?;
    Ok(url)
}

fn cache_url(text: &str, scheme: &'static str) -> Result<Url, TargetError> {
    let url = url(text, &["redis", "rediss"], scheme)?;
    tls::of_cache(&url).map_err(TargetError::Tls)?;
    Ok(url)
}

fn page_url(text: &str, scheme: &'static str) -> Result<Url, TargetError> {
    let url = url(text, &["http", "https"], scheme)?;
    tls::of_page(&url).map_err(TargetError::Tls)?;
    Ok(url)
}

fn url(text: &str, schemes: &[&str], scheme: &'static str) -> Result<Url, TargetError> {
    let refused = |reason: String| TargetError::Url { scheme, reason };
    let url = Url::parse(text).map_err(|error| refused(error.to_string()))?;
    if !schemes.contains(&url.scheme()) {
        return Err(refused(format!("it does not begin with {scheme}")));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("it has no host".to_owned()));
    }
    Ok(url)
}

/// A URL without user, password, parameters and fragment.
fn public(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    harmless(&format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()))
}

/// What was typed, without what could be a password.
fn shown(text: &str) -> String {
    harmless(text.rsplit_once('@').map_or(text, |(_, behind)| behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_target_is_read() {
        for (text, kind, name) in [
            ("host", SourceKind::Host, "host"),
            ("pid:123", SourceKind::Process, "pid 123"),
            ("profile:123", SourceKind::Profile, "profile of pid 123"),
            ("postgres://u:secret@db:5433/app?x=1", SourceKind::Postgres, "postgres://db:5433/app"),
            ("postgresql://db/app", SourceKind::Postgres, "postgresql://db/app"),
            ("redis://:secret@[::1]:6380/1", SourceKind::Redis, "redis://[::1]:6380/1"),
            ("valkey://cache", SourceKind::Redis, "redis://cache"),
            ("rediss://u:secret@db?sslrootcert=/ca.pem", SourceKind::Redis, "rediss://db"),
            ("valkeys://cache:6380", SourceKind::Redis, "rediss://cache:6380"),
            ("postgres://u:secret@db/app?sslmode=verify-full", SourceKind::Postgres, "postgres://db/app"),
            ("pgbouncer://u:secret@pool/?sslmode=require", SourceKind::PgBouncer, "pgbouncer://pool/"),
            (
                "prometheus:https://u:secret@app/metrics#sslrootcert=/ca.pem",
                SourceKind::Prometheus,
                "https://app/metrics",
            ),
            (
                "prometheus:http://u:secret@app:9090/metrics",
                SourceKind::Prometheus,
                "http://app:9090/metrics",
            ),
            ("sqlite:/data/my db", SourceKind::Sqlite, "/data/my db"),
            ("pgbouncer://u:secret@pool:6432", SourceKind::PgBouncer, "pgbouncer://pool:6432"),
            ("nginx:http://web/stub_status", SourceKind::Nginx, "http://web/stub_status"),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!((target.kind(), target.name().as_str()), (kind, name), "{text}");
            assert!(!format!("{target:?} {target}").contains("secret"), "{text}");
        }
    }

    #[test]
    fn what_is_no_target_is_refused_without_its_password() {
        for text in [
            "",
            "db",
            "mysql://u:secret@db/x",
            "pid:",
            "pid:0",
            "pid:-1",
            "pid:99999999999",
            "profile",
            "profile:shop",
            "postgres://",
            "postgres:///app",
            "postgres://u:secret@:x",
            "redis:6379",
            "redis://u:secret@db?sslmode=require",
            "rediss://u:secret@db?sslmode=disable",
            "postgres://u:secret@db/x?sslmode=always",
            "nginx:http://u:secret@app/#sslmode=require",
            "sqlite:",
            "prometheus:app:9090",
            "prometheus:ftp://u:secret@app",
            "nginx:",
        ] {
            let error = Target::parse(text).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
            assert!(!error.hint().is_empty());
        }
    }

    #[test]
    fn an_encoded_password_is_a_secret_in_both_forms() {
        let target = Target::parse("postgres://u:p%40ss+word@db/x").unwrap();
        assert_eq!(target.secrets(), ["p%40ss+word", "p@ss+word"]);
    }

    #[test]
    fn a_name_cannot_steer_a_terminal() {
        assert_eq!(Target::parse("sqlite:a\u{1b}[2J").unwrap().name(), "a\\u{1b}[2J");
    }
}
