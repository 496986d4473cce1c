//! Fetches the modules that scripts import over https.
//!
//! Stores and checks nothing; `knee_js::loader::remote` does. Requests of a load do not use it.

use std::sync::OnceLock;
use std::time::Duration;

use knee_js::loader::remote::{BYTES_MAX, Fetch, REDIRECTS_MAX};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::Url;

/// How long fetching a module can take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The network client, created when it is first needed.
#[derive(Debug, Default)]
pub struct Network {
    agent: OnceLock<Agent>,
}

impl Fetch for Network {
    fn fetch(&self, url: &Url) -> Result<Vec<u8>, String> {
        let agent = self.agent.get_or_init(agent);
        // As k6 does: servers can tell by that who asks, and some know no such parameter.
        let mut marked = url.clone();
        marked.query_pairs_mut().append_pair("_k6", "1");
        let answer = agent.get(marked.as_str()).call().or_else(|_| agent.get(url.as_str()).call());
        let mut answer = answer.map_err(|error| error.to_string())?;
        // A byte more than is allowed tells that there was more.
        let body = answer.body_mut().with_config().limit(BYTES_MAX + 1);
        body.read_to_vec().map_err(|error| error.to_string())
    }
}

fn agent() -> Agent {
    Agent::config_builder()
        .https_only(true)
        .max_redirects(REDIRECTS_MAX)
        .timeout_global(Some(TIMEOUT))
        .user_agent(concat!("knee/", env!("CARGO_PKG_VERSION")))
        .tls_config(TlsConfig::builder().root_certs(roots()).build())
        .build()
        .into()
}

/// The root certificates that this machine trusts; if it has none, Mozilla's.
fn roots() -> RootCerts {
    let native = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<_> = native.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    if certificates.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&certificates) }
}
