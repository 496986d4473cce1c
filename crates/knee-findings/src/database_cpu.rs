//! Whether the CPUs of a PostgreSQL server are known: those of the observed machine can be other ones.
//!
//! A full server makes statements slow, so that a pool before it looks too small. Does not say how busy the CPUs are:
//! `bound` does for the observed machine.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::evidence::Evidence;
use crate::watched::Watched;

/// Names of the server's processes.
const NAMES: [&str; 2] = ["postgres", "postmaster"];
/// Backends that compute at a time, on average, up to which even one CPU has room.
const COMPUTE: f64 = 0.7;

/// What to say of a pool whose server can be full.
pub(crate) const UNKNOWN: &str =
    "; whether the database has room is not known, because its CPUs are not observed";

/// Whether the figures of CPUs are also those of the server, or show that few of its backends compute at a time.
pub(crate) fn is_known(evidence: &Evidence<'_>) -> bool {
    let servers = evidence.sources(SourceKind::Postgres);
    let compute_little = || !servers.is_empty() && servers.iter().all(computes_little);
    let is_here = || servers.iter().any(is_local) || works_here(evidence);
    compute_little() || bound::cpus_busy(evidence).is_some() && is_here()
}

fn computes_little(server: &Watched<'_>) -> bool {
    let samples = server.rise("activity.samples", "").filter(|samples| samples.amount > 0.0);
    let computing = server.rise("activity.wait", "CPU");
    samples.zip(computing).is_some_and(|(samples, computing)| computing.amount <= COMPUTE * samples.amount)
}

/// Whether it has an address of the machine on which `knee` runs.
fn is_local(server: &Watched<'_>) -> bool {
    let address = server.source.name.split_once("://").map_or("", |(_, behind)| behind);
    let address = address.rsplit_once('@').map_or(address, |(_, behind)| behind);
    ["127.", "localhost", "[::1]", "/"].iter().any(|here| address.starts_with(here))
}

/// Whether the observed machine has a program that is such a server, or it is observed as a process.
fn works_here(evidence: &Evidence<'_>) -> bool {
    let is_server = |name: &str| NAMES.iter().any(|known| name.starts_with(known));
    let hosts = evidence.sources(SourceKind::Host);
    let processes = evidence.sources(SourceKind::Process);
    hosts.iter().any(|host| host.rises("host.program.cpu").iter().any(|(name, _)| is_server(name)))
        || processes
            .iter()
            .any(|process| process.texts("process.command").any(|(_, command)| is_server(command)))
}
