//! Where the sessions with a server of PostgreSQL's protocol begin: its address, and the TLS that this asks for.
//!
//! Connects, and holds no session; see [`crate::session`].

use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::Url;

use crate::tls::{self, Mode, Settings};

/// What servers and poolers say if they accept only TLS.
const ONLY_TLS: [&str; 3] = ["no encryption", "SSL off", "SSL required"];

/// Where sessions begin.
pub(crate) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
    /// Whether a session without TLS is as good, if there is none with it.
    can_do_without: bool,
    /// Whether it asks for no TLS where there could be some.
    is_plain: bool,
}

impl Address {
    /// The address in a URL; `change` adds parameters. Reads the files that the URL names.
    pub(crate) fn new(url: &Url, change: impl FnOnce(&mut Config)) -> Result<Self, String> {
        let (bare, settings) = tls::of_database(url)?;
        let text = bare.as_str().replacen("pgbouncer://", "postgres://", 1);
        let mut config = text.parse::<Config>().map_err(|error| reason(&error))?;
        change(&mut config);
        // Sockets of this machine have no TLS, whatever the mode is.
        let is_remote = !config.get_hostaddrs().is_empty()
            || config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        let mode = if is_remote { settings.mode() } else { Mode::Disable };
        let is_direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
        if is_direct && mode == Mode::Prefer {
            // As in libpq: what demands TLS at once must not end up without it.
            return Err("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full".to_owned());
        }
        let is_plain = is_remote && mode == Mode::Disable;
        let settings = if mode == Mode::Disable { Settings::default() } else { settings };
        config.ssl_mode(match mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        let mut client = settings.client_config()?;
        if is_direct {
            client.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        let can_do_without = mode == Mode::Prefer;
        Ok(Self { config, tls: MakeRustlsConnect::new(client), can_do_without, is_plain })
    }

    /// Connects. As in libpq, the mode `prefer` tries it without TLS if the server refuses the session with it.
    pub(crate) async fn connect(&self) -> Result<Client, String> {
        match self.attempt(&self.config).await {
            Ok(client) => Ok(client),
            Err(error) if self.can_do_without && is_of_encryption(&error) => {
                let mut plain = self.config.clone();
                plain.ssl_mode(SslMode::Disable);
                self.attempt(&plain).await.map_err(|second| {
                    // Of a server that accepts neither, the first reason says more.
                    self.refused(if is_of_encryption(&second) { &error } else { &second })
                })
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    async fn attempt(&self, config: &Config) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        // Ends with the client.
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }

    /// Why there is no session. A server says the same of an address that it accepts neither with TLS nor without.
    fn refused(&self, error: &tokio_postgres::Error) -> String {
        let reason = reason(error);
        if self.is_plain && ONLY_TLS.iter().any(|words| reason.contains(words)) {
            return format!(
                "{reason}: if it accepts only TLS, write sslmode=require, verify-ca or verify-full"
            );
        }
        reason
    }
}

/// Whether it is no refusal by the server, or one of such connections: with TLS, or without.
fn is_of_encryption(error: &tokio_postgres::Error) -> bool {
    error.code().is_none_or(|code| *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

/// The server's message, or the error of the connection.
pub(crate) fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    if let Some(words) = tls::explained(error, "sslmode=disable") {
        return words;
    }
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let cause = cause.unwrap_or_else(|| error.to_string());
    if cause == "server does not support TLS" {
        return "it does not speak TLS: turn it on in the server, or write sslmode=disable".to_owned();
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Address, String> {
        Address::new(&text.parse().unwrap(), |_| {})
    }

    #[test]
    fn the_mode_decides_whether_there_is_tls_and_sockets_have_none() {
        for (text, mode, can_do_without, is_plain) in [
            ("postgres://db/x", SslMode::Prefer, true, false),
            ("postgres://db/x?sslmode=disable&sslrootcert=/none", SslMode::Disable, false, true),
            ("pgbouncer://db?sslmode=require", SslMode::Require, false, false),
            ("postgres://db/x?sslmode=require&sslnegotiation=direct", SslMode::Require, false, false),
            ("postgres://u@%2Ftmp/x?sslmode=require", SslMode::Disable, false, false),
        ] {
            let address = address(text).unwrap();
            let found = (address.config.get_ssl_mode(), address.can_do_without, address.is_plain);
            assert_eq!(found, (mode, can_do_without, is_plain), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let missing = address("postgres://db/x?sslmode=verify-ca&sslrootcert=/none/ca.pem").err().unwrap();
        assert!(missing.starts_with("sslrootcert: cannot read /none/ca.pem: "), "{missing}");
        let unknown = address("postgres://db/x?sslcrl=/none").err().unwrap();
        assert!(unknown.contains("sslcrl"), "{unknown}");
        let weak = address("postgres://db/x?sslnegotiation=direct").err().unwrap();
        assert!(weak.starts_with("sslnegotiation=direct needs sslmode=require"), "{weak}");
    }
}
