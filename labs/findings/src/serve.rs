//! The service from startup to shutdown.
//!
//! Does not start PostgreSQL and Redis; they must be running.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::ServeArgs;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{arrivals, jobs, menus, partner, prepare, web};

/// How long open requests have at the end.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until SIGTERM or Ctrl-C.
///
/// # Errors
/// The port is taken, or a store fails.
pub async fn run(args: &ServeArgs) -> Result<(), Refusal> {
    let listener = arrivals::listen(args.listen, args.defect)?;
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let shop = Arc::new(Shop::open(args).await?);
    prepare::prepare(&shop).await?;
    jobs::start_listeners(&args.store.postgres, args.defect).await?;
    if !shop.has(Defect::CacheStampede) {
        tokio::spawn(menus::refresh_top(Arc::clone(&shop)));
    }
    if shop.has(Defect::TimedPause) {
        tokio::spawn(partner::pause_regularly(Arc::clone(&shop)));
    }
    writeln!(io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    let is_delayed = shop.has(Defect::Nagle);
    let listener = listener.tap_io(move |tcp| {
        // Without Nagle's algorithm, a small write does not wait for the acknowledgement of the one before.
        let _ = tcp.set_nodelay(!is_delayed);
    });
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    let end = async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        let _ = asked.send(());
    };
    let serving = axum::serve(listener, web::router(shop)).with_graceful_shutdown(end);
    let too_late = async move {
        let _ = is_asked.await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = serving.into_future() => served?,
        () = too_late => {}
    }
    Ok(())
}
