//! What can be watched, as it is written on the command line.
//!
//! Does not connect to anything. Messages never contain a password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use knee_core::observation::SourceKind;
use url::Url;

use crate::text::harmless;

/// What is to be watched.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// This machine.
    Host,
    /// A process with its descendants.
    Process(u32),
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
    /// The URL cannot be read.
    #[error("the address to observe is no {scheme} URL with a host: {reason}")]
    Url {
        /// What it must begin with.
        scheme: &'static str,
        /// Why.
        reason: String,
    },
    /// The path is empty.
    #[error("`sqlite:` needs the path of a file")]
    Path,
}

impl TargetError {
    /// What to write instead.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unknown(_) => {
                "write host, pid:NUMBER, postgres://…, redis://…, sqlite:PATH, pgbouncer://…, nginx:http://… \
                 or prometheus:http://…"
            }
            Self::Process(_) => "write pid:NUMBER, with the id of a running process",
            Self::Url { .. } => "encode characters such as @ and / in a password as %40 and %2F",
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
            "pid" => match rest.parse::<u32>() {
                Ok(pid) if pid > 0 && i32::try_from(pid).is_ok() => Ok(Self::Process(pid)),
                _ => Err(TargetError::Process(shown(rest))),
            },
            "postgres" | "postgresql" => database_url(text, "postgres://").map(Self::Postgres),
            "pgbouncer" => database_url(text, "pgbouncer://").map(Self::PgBouncer),
            "redis" | "valkey" => url(&format!("redis:{rest}"), &["redis"], "redis://").map(Self::Redis),
            "rediss" => Err(TargetError::Url {
                scheme: "redis://",
                reason: "TLS is not supported here; use the server's port without TLS".to_owned(),
            }),
            "prometheus" => url(rest, &["http"], "prometheus:http://").map(Self::Prometheus),
            "nginx" => url(rest, &["http"], "nginx:http://").map(Self::Nginx),
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

fn database_url(text: &str, scheme: &'static str) -> Result<Url, TargetError> {
    url(text, &["postgres", "postgresql", "pgbouncer"], scheme)
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

/// A part of a URL without its percent signs.
pub(crate) fn decoded(text: &str) -> String {
    // The parser of forms decodes `+` as a space, so that sign is protected.
    let pair = format!("x={}", text.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_target_is_read() {
        for (text, kind, name) in [
            ("host", SourceKind::Host, "host"),
            ("pid:123", SourceKind::Process, "pid 123"),
            ("postgres://u:secret@db:5433/app?x=1", SourceKind::Postgres, "postgres://db:5433/app"),
            ("postgresql://db/app", SourceKind::Postgres, "postgresql://db/app"),
            ("redis://:secret@[::1]:6380/1", SourceKind::Redis, "redis://[::1]:6380/1"),
            ("valkey://cache", SourceKind::Redis, "redis://cache"),
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
            "postgres://",
            "postgres:///app",
            "postgres://u:secret@:x",
            "redis:6379",
            "rediss://u:secret@db",
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
