//! Webhook target (stub): responds after a configurable delay, with optional errors and TLS.
//!
//! Knows only the headers of a call. Runs on one thread to leave the machine to the
//! service: a delayed call costs no CPU time.

mod call;
mod call_log;
mod tls;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use call::StubServer;

/// First line of the file with the certificate of a target. Readers of PEM skip it. [`is_own_certificate`] finds it.
pub const CERTIFICATE_MARK: &str = "# runlater target: a stub on this machine, which tasks can call\n";

/// The first byte of a TLS handshake; no method of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

/// Arguments of `target`.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct TargetArgs {
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "RUNLATER_TARGET_LISTEN", default_value = "127.0.0.1:3310")]
    pub listen: SocketAddr,
    /// Delay of a response, as 100ms or 2s; `?delay=` of a call takes precedence
    #[arg(long, env = "RUNLATER_TARGET_DELAY", default_value = "100ms", value_parser = parse_duration)]
    pub delay: Duration,
    /// Random addition to each delay, uniform from 0 to this
    #[arg(long, env = "RUNLATER_TARGET_DELAY_SPREAD", default_value = "0ms", value_parser = parse_duration)]
    pub delay_spread: Duration,
    /// Status of a response; `?status=` of a call takes precedence
    #[arg(long, env = "RUNLATER_TARGET_STATUS", default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    pub status: u16,
    /// Share of calls that get the error status, from 0 to 1
    #[arg(long, env = "RUNLATER_TARGET_ERROR_RATE", default_value_t = 0.0, value_parser = parse_share)]
    pub error_rate: f64,
    /// Error status
    #[arg(long, env = "RUNLATER_TARGET_ERROR_STATUS", default_value_t = 500, value_parser = clap::value_parser!(u16).range(300..=599))]
    pub error_status: u16,
    /// Retry-After of responses with status 400 and above: seconds or an HTTP date; `?retry_after=` takes precedence
    #[arg(long, env = "RUNLATER_TARGET_RETRY_AFTER")]
    pub retry_after: Option<String>,
    /// Body of a response
    #[arg(long, env = "RUNLATER_TARGET_BODY", default_value = "ok")]
    pub body: String,
    /// Also serve TLS on the same port, with a certificate for localhost and 127.0.0.1 that is created at the start and written to this file (PEM)
    #[arg(long, env = "RUNLATER_TARGET_TLS", value_name = "FILE")]
    pub tls: Option<PathBuf>,
    /// Refuse calls with 401 unless X-Runlater-Signature was made with this secret
    #[arg(long, env = "RUNLATER_TARGET_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// Executions remembered individually; later ones are only counted
    #[arg(long, env = "RUNLATER_TARGET_REMEMBER", default_value_t = 2_000_000)]
    pub remember: usize,
    /// Seed of errors and delays
    #[arg(long, env = "RUNLATER_TARGET_SEED", default_value_t = 1)]
    pub seed: u64,
}

/// Why the target cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Reason.
        source: io::Error,
    },
    /// `--retry-after` is not a valid header value.
    #[error("`{0}` cannot be a Retry-After")]
    RetryAfter(String),
    /// The certificate cannot be created or written.
    #[error("no certificate for TLS: {0}")]
    Certificate(String),
    /// The system denies a resource that the target needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Whether a target wrote this file, by its first line. `false` if it cannot be read, and for a pipe, whose content can
/// be read only once.
pub fn is_own_certificate(file: &Path) -> bool {
    file.is_file()
        && std::fs::read(file).is_ok_and(|content| content.starts_with(CERTIFICATE_MARK.as_bytes()))
}

/// Serves until SIGTERM or Ctrl-C; open calls get no response then.
///
/// # Errors
/// The port is taken, or the certificate cannot be written.
pub async fn run(args: &TargetArgs) -> Result<(), Problem> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stub = Arc::new(StubServer::new(args)?);
    let tls = args.tls.as_deref().map(tls::acceptor).transpose().map_err(Problem::Certificate)?;
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = TcpListener::bind(args.listen).await.map_err(listen)?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, tls = tls.is_some(), "answering");
    tokio::select! {
        () = accept(listener, &stub, tls) => {}
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!("stopped");
    Ok(())
}

/// Accepts connections for ever and serves each in a task.
async fn accept(listener: TcpListener, stub: &Arc<StubServer>, tls: Option<TlsAcceptor>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(stub), tls.clone()))),
            Err(error) => {
                tracing::warn!(%error, "no connection");
                // Usually out of descriptors: wait until some are free.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, stub: Arc<StubServer>, tls: Option<TlsAcceptor>) {
    // Responses are written in one piece; Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    let Some(acceptor) = tls else { return serve_http(stream, stub).await };
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => match acceptor.accept(stream).await {
            Ok(stream) => {
                stub.call_log.handshake();
                serve_http(stream, stub).await;
            }
            Err(error) => tracing::debug!(%error, "no handshake"),
        },
        Ok(_) => serve_http(stream, stub).await,
        Err(error) => tracing::debug!(%error, "nothing came"),
    }
}

/// Serves HTTP/1.1 on a connection.
async fn serve_http(stream: impl AsyncRead + AsyncWrite + Unpin, stub: Arc<StubServer>) {
    stub.call_log.connection();
    let service = service_fn(|request| Arc::clone(&stub).respond(request));
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Parses a duration: `100ms`, `2s`, or milliseconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let (digits, unit_ms) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => (text, 1),
    };
    match digits.parse::<u64>() {
        Ok(number) if number * unit_ms <= 600_000 && digits.len() < 8 => {
            Ok(Duration::from_millis(number * unit_ms))
        }
        _ => Err("a time of at most 600s, as 100ms or 2s".to_owned()),
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_as_people_write_them() {
        for (text, ms) in [("100ms", 100), ("2s", 2000), ("0", 0), ("7", 7), ("600s", 600_000)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "601s", "1m", "99999999999999999999s", "18446744073709551615"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!((parse_share("0"), parse_share("0.25"), parse_share("1")), (Ok(0.0), Ok(0.25), Ok(1.0)));
        for text in ["", "-0.1", "1.1", "NaN", "half"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
    }
}
