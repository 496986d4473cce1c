//! Those who are called: a server that answers after a settable time, sometimes wrongly, over TLS if asked to.
//!
//! Knows nothing of tasks but the headers that a call comes with. One thread serves it, so that it takes little of a
//! machine that it shares with the service: no work is done while a call waits for its time.

mod call;
mod ledger;
mod tls;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
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

use call::Desk;

/// The first byte of a TLS handshake; no method of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

/// What `target` takes.
#[derive(Debug, Clone, Args)]
#[command(args_override_self = true)]
pub struct TargetArgs {
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "RUNLATER_TARGET_LISTEN", default_value = "127.0.0.1:3310")]
    pub listen: SocketAddr,
    /// Time until a call is answered, as 100ms or 2s; `?delay=` of a call goes first
    #[arg(long, env = "RUNLATER_TARGET_DELAY", default_value = "100ms", value_parser = span)]
    pub delay: Duration,
    /// At most so much is added to each delay, evenly spread
    #[arg(long, env = "RUNLATER_TARGET_DELAY_SPREAD", default_value = "0ms", value_parser = span)]
    pub delay_spread: Duration,
    /// Status of an answer; `?status=` of a call goes first
    #[arg(long, env = "RUNLATER_TARGET_STATUS", default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    pub status: u16,
    /// Share of the calls that get the error status, from 0 to 1
    #[arg(long, env = "RUNLATER_TARGET_ERROR_RATE", default_value_t = 0.0, value_parser = share)]
    pub error_rate: f64,
    /// Status of those
    #[arg(long, env = "RUNLATER_TARGET_ERROR_STATUS", default_value_t = 500, value_parser = clap::value_parser!(u16).range(300..=599))]
    pub error_status: u16,
    /// Retry-After of answers with a status of 400 and more: seconds, or a date of HTTP; `?retry_after=` goes first
    #[arg(long, env = "RUNLATER_TARGET_RETRY_AFTER")]
    pub retry_after: Option<String>,
    /// Body of an answer
    #[arg(long, env = "RUNLATER_TARGET_BODY", default_value = "ok")]
    pub body: String,
    /// Speak TLS, too, on the same port, with a certificate for localhost and 127.0.0.1 that is made at the start and written to this file (PEM)
    #[arg(long, env = "RUNLATER_TARGET_TLS", value_name = "FILE")]
    pub tls: Option<PathBuf>,
    /// Refuse calls with 401 whose X-Runlater-Signature was not made with this secret
    #[arg(long, env = "RUNLATER_TARGET_SECRET")]
    pub secret: Option<String>,
    /// Executions that are remembered one by one; later ones are only counted
    #[arg(long, env = "RUNLATER_TARGET_REMEMBER", default_value_t = 2_000_000)]
    pub remember: usize,
    /// Decides which calls get errors and how delays are spread
    #[arg(long, env = "RUNLATER_TARGET_SEED", default_value_t = 1)]
    pub seed: u64,
}

/// Why the target cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Nothing can listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The text of `--retry-after` cannot be in a header.
    #[error("`{0}` cannot be a Retry-After")]
    RetryAfter(String),
    /// The certificate cannot be made or written.
    #[error("no certificate for TLS: {0}")]
    Certificate(String),
    /// The system denies something that it needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Answers until SIGTERM or Ctrl-C; calls that are open then are not answered.
///
/// # Errors
/// The port is taken, or the certificate cannot be written.
pub async fn run(args: &TargetArgs) -> Result<(), Problem> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let desk = Arc::new(Desk::new(args)?);
    let tls = args.tls.as_deref().map(tls::acceptor).transpose().map_err(Problem::Certificate)?;
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = TcpListener::bind(args.listen).await.map_err(listen)?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, tls = tls.is_some(), "answering");
    tokio::select! {
        () = accept(listener, &desk, tls) => {}
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!("stopped");
    Ok(())
}

/// Takes connections for ever, each into a task of its own.
async fn accept(listener: TcpListener, desk: &Arc<Desk>, tls: Option<TlsAcceptor>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(desk), tls.clone()))),
            Err(error) => {
                tracing::warn!(%error, "no connection");
                // Out of descriptors, mostly: somebody has to go first.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, desk: Arc<Desk>, tls: Option<TlsAcceptor>) {
    // Answers are written in one piece; waiting for more of them only delays the last.
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    let Some(acceptor) = tls else { return speak(stream, desk).await };
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => match acceptor.accept(stream).await {
            Ok(stream) => {
                desk.ledger.handshake();
                speak(stream, desk).await;
            }
            Err(error) => tracing::debug!(%error, "no handshake"),
        },
        Ok(_) => speak(stream, desk).await,
        Err(error) => tracing::debug!(%error, "nothing came"),
    }
}

/// HTTP/1.1 on a connection, to its end.
async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin, desk: Arc<Desk>) {
    desk.ledger.connection();
    let service = service_fn(|request| Arc::clone(&desk).answer(request));
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// A span of time as people write it: `100ms`, `2s`, or milliseconds.
fn span(text: &str) -> Result<Duration, String> {
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

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, ms) in [("100ms", 100), ("2s", 2000), ("0", 0), ("7", 7), ("600s", 600_000)] {
            assert_eq!(span(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "601s", "1m", "99999999999999999999s", "18446744073709551615"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!((share("0"), share("0.25"), share("1")), (Ok(0.0), Ok(0.25), Ok(1.0)));
        for text in ["", "-0.1", "1.1", "NaN", "half"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
