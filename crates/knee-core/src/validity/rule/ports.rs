//! Local ports towards the target run short.

use super::super::figure::count;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// Share of the range.
pub(crate) const LIMIT: f64 = 0.7;

/// What was found.
pub(super) struct Evidence {
    taken: u64,
    range: u64,
}

impl Rated for Evidence {
    const CODE: &'static str = "ports";
    const LOOKS_AT: &'static str = "share of the local ports that connections to one address use";
    const SUSPECT: &'static str = "70 % of the port range";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "The kernel tries ports until it finds a free one. This search becomes slow long before all ports are in use.";
    const CAUSE: &'static str = "Connections are opened and closed so fast that too many ports are in the state TIME_WAIT. Opening a connection becomes slow, and finally fails.";
    const REMEDY: &'static str =
        "Keep connections alive, lower the rate, or widen net.ipv4.ip_local_port_range.";
    const HINT: &'static str = "keep connections alive, or lower the rate";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        // More than there are is no count towards one address.
        let fits = |(taken, range): &(u64, u64)| taken <= range && *range > 0;
        let (taken, range) = diagnostics.generator.ports.filter(fits)?;
        Some(Self { taken, range })
    }

    fn validity(&self) -> Option<Validity> {
        (self.taken as f64 / self.range as f64 > LIMIT).then_some(Validity::Suspect)
    }

    fn message(&self) -> String {
        format!("connections to one address used {} of {} local ports", count(self.taken), count(self.range))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SUSPECT, changed};

    #[test]
    fn ports_are_suspect_above_seven_tenths_of_their_range() {
        let taken = |count| changed("ports", move |d| d.generator.ports = Some((count, 1_000)));
        assert_eq!([700, 701, 1_000].map(taken), [None, SUSPECT, SUSPECT]);
        assert_eq!(taken(1_200), None, "sockets of all kinds, not ports towards one address");
    }
}
