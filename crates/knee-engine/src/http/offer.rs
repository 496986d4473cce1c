//! Asks servers whether they would have chosen HTTP/2: one TLS handshake with each, after the load.
//!
//! Not before the load and not during it: a connection more could change what a server does that counts connections,
//! or what is measured. Sends no request. Servers that do not answer are taken for servers without HTTP/2.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock::MonotonicClock;
use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use rustls::ClientConfig;
use rustls::client::Resumption;

use super::network::Network;
use super::opening::open;
use super::origin::{Origin, Resolver};
use super::request::Defaults;
use super::settings::Settings;
use crate::deadline::Deadlines;
use crate::recorder::Marks;
use crate::timer::{Timer as _, WorkerTimer};

/// Maximum time for all servers together. A server that just answered a load needs a few round trips.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// How often the time limit is checked.
const PACE: Nanos = Nanos::from_millis(20);

/// Whether any of `origins` would choose HTTP/2. Connects as the load did, and offers HTTP/2 too.
pub fn is_offered(
    origins: &[Arc<Origin>],
    settings: &Arc<Settings>,
    config: &ClientConfig,
    resolver: Arc<Resolver>,
) -> bool {
    let mut config = config.clone();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A session of the load would be resumed with its protocol.
    config.resumption = Resumption::disabled();
    let Ok(runtime) = WorkerTimer::runtime() else { return false };
    runtime.block_on(async {
        let clock = MonotonicClock::start();
        let Ok(timer) = WorkerTimer::new(clock) else { return false };
        tokio::task::spawn_local(timer.clone().drive());
        let deadlines = Rc::new(Deadlines::default());
        let watch = (deadlines.clone(), timer.clone());
        tokio::task::spawn_local(async move { watch.0.watch(watch.1, PACE).await });
        let deadline = deadlines.add_user();
        let (settings, tls) = (settings.clone(), Some(Arc::new(config)));
        let network = Network::new(clock, settings, Defaults::default(), resolver, tls, deadlines);
        let limit = timer.now().saturating_add(PATIENCE);
        for (index, origin) in origins.iter().enumerate() {
            let (mut marks, late) = (Marks::default(), Cell::new(Fault::ConnectTimeout));
            let opening = pin!(open(&network, origin, network.tls(), index, &mut marks, &late));
            if let Ok(Ok(channel)) = deadline.limit(limit, opening).await
                && channel.protocol() == Some(b"h2")
            {
                return true;
            }
        }
        false
    })
}
