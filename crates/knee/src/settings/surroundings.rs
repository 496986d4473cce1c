//! Inputs of the settings besides the command line: CPUs, terminals, name resolution.
//!
//! Does not read `K6_*` and other variables of a script.

use std::sync::Arc;

use knee_engine::http::proxy::rules::ProxyRules;

use super::{proxy, target};

/// Input from the machine and the environment, which was not typed.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about where knee was started")]
pub struct Surroundings {
    /// CPUs this process can use; 1 or more.
    pub cpus: u16,
    /// Whether stdout is a terminal.
    pub stdout_terminal: bool,
    /// Whether stderr is a terminal.
    pub stderr_terminal: bool,
    /// Whether `NO_COLOR` is set to something.
    pub no_color: bool,
    /// Whether `GODEBUG` keeps programs written in Go, such as k6, from using HTTP/2.
    pub without_http2: bool,
    /// The proxies that the environment names, for scripts.
    pub proxies: Option<Arc<ProxyRules>>,
    /// Finds the addresses of a name.
    pub resolve: target::Resolve,
}

impl Surroundings {
    /// The surroundings of this process.
    pub fn read() -> Self {
        use std::io::IsTerminal;
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            cpus: u16::try_from(cpus).unwrap_or(u16::MAX),
            stdout_terminal: std::io::stdout().is_terminal(),
            stderr_terminal: std::io::stderr().is_terminal(),
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            without_http2: std::env::var("GODEBUG").is_ok_and(|value| is_without_http2(&value)),
            proxies: proxy::of_script(&|name| std::env::var(name).ok()).0,
            resolve: target::resolve,
        }
    }
}

/// Whether a value of `GODEBUG` turns HTTP/2 off for clients. Of several settings the last one counts.
fn is_without_http2(value: &str) -> bool {
    let set = value.rsplit(',').find_map(|pair| pair.trim().strip_prefix("http2client="));
    set == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn godebug_turns_http_2_off_as_for_k6() {
        for (value, off) in [
            ("http2client=0", true),
            ("netdns=go, http2client=0", true),
            ("http2client=0,http2client=1", false),
            ("http2server=0", false),
            ("", false),
        ] {
            assert_eq!(is_without_http2(value), off, "{value}");
        }
    }
}
