//! Where pages are served: the live page, and those of `knee serve`.
//!
//! Does not open a socket.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use knee_core::plan::{Executor, Plan};
use knee_core::schedule::Curve;
use knee_engine::steering::Ceiling;

use super::number;
use crate::args::WebFlags;
use crate::problem::Problem;

/// The address to serve on; `None` without a page. Port 0 is a free port.
///
/// # Errors
///
/// When the address cannot be read.
pub fn address(flags: &WebFlags) -> Result<Option<SocketAddr>, Problem> {
    flags.address.as_deref().map(|text| listen("--web", text)).transpose()
}

/// Up to what a page can raise a planned rate; `None` if it controls nothing.
///
/// # Errors
///
/// When the rate cannot be read.
pub fn ceiling(flags: &WebFlags) -> Result<Option<Ceiling>, Problem> {
    let most = flags.steer_max.as_deref().map(|text| number::rate("--steer-max", text)).transpose()?;
    Ok(flags.control.then(|| most.map_or(Ceiling::Planned, Ceiling::Rate)))
}

/// Refuses a highest rate for what cannot be steered: loads that are compared with each other stay as planned.
///
/// # Errors
///
/// When `command` measures such loads.
pub fn refuse_useless(flags: &WebFlags, command: &str) -> Result<(), Problem> {
    if flags.steer_max.is_none() || ["run", "demo"].contains(&command) {
        return Ok(());
    }
    Err(Problem::new(
        format!(
            "`--steer-max` has no effect on `knee {command}`: its loads are compared, so they stay as planned"
        ),
        "leave it out; `--web-control` alone can stop the command",
    ))
}

/// Refuses a highest rate for a load without a planned one.
///
/// # Errors
///
/// When no scenario has a planned rate.
pub fn refuse_without_rate(plan: &Plan, ceiling: Option<Ceiling>) -> Result<(), Problem> {
    let has_rate = plan.scenarios.iter().any(|scenario| matches!(scenario.executor, Executor::Open { .. }));
    if has_rate || !matches!(ceiling, Some(Ceiling::Rate(_))) {
        return Ok(());
    }
    Err(Problem::new(
        "`--steer-max` has no effect: this load has no planned rate",
        "give one with `--rate`, or leave `--steer-max` out",
    ))
}

/// The plan with the highest rate that a page can ask for, which must be allowed like any other.
pub fn at_most(plan: &Plan, ceiling: Option<Ceiling>) -> Plan {
    let mut plan = plan.clone();
    if let Some(Ceiling::Rate(most)) = ceiling {
        for scenario in &mut plan.scenarios {
            if let Executor::Open { rate, .. } = &mut scenario.executor {
                *rate = Curve::constant(most.max(rate.peak()));
            }
        }
    }
    plan
}

/// The address that `flag` gives. Without one it is a free port of 127.0.0.1.
///
/// # Errors
///
/// When the address cannot be read.
pub fn listen(flag: &str, text: &str) -> Result<SocketAddr, Problem> {
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let address = match text {
        "" => Some(loopback(0)),
        _ => port
            .parse()
            .map(loopback)
            .or_else(|_| text.parse())
            .or_else(|_| text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 0)))
            .ok(),
    };
    address.ok_or_else(|| {
        Problem::new(
            format!("`{flag}`: `{text}` is not an address"),
            format!(
                "write an address with a port, such as `{flag}=127.0.0.1:8089`, or nothing for a free port"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<SocketAddr>, Problem> {
        address(&WebFlags { address: Some(text.to_owned()), ..WebFlags::default() })
    }

    #[test]
    fn an_address_without_a_host_is_loopback_and_without_a_port_a_free_one() {
        for (text, address) in [
            ("", "127.0.0.1:0"),
            ("8089", "127.0.0.1:8089"),
            (":8089", "127.0.0.1:8089"),
            ("localhost:8089", "127.0.0.1:8089"),
            ("192.0.2.7", "192.0.2.7:0"),
            ("0.0.0.0:8089", "0.0.0.0:8089"),
            ("[::1]:8089", "[::1]:8089"),
        ] {
            assert_eq!(read(text), Ok(Some(address.parse().unwrap())), "{text}");
        }
        assert_eq!(address(&WebFlags::default()), Ok(None));
    }

    #[test]
    fn what_is_no_address_is_named() {
        for text in ["example.org:80", "127.0.0.1:99999", "http://127.0.0.1/"] {
            assert!(read(text).unwrap_err().what.contains(text));
        }
    }
}
