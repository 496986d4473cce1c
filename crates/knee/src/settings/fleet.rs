//! Resolves what was typed and written about a fleet: which agents, how to reach them, whose orders count.
//!
//! Reads keys and the file of an agent. Does not connect.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use knee_core::unit::Nanos;
use knee_driver::private_file;
use knee_fleet::controller::Wanted;
use knee_fleet::name::AgentId;
use knee_fleet::nats::Link;
use knee_fleet::policy::{Policy, TargetRule};
use knee_fleet::signature::{Signer, check_public};
use serde::Deserialize;
use url::{Host, Url};

use super::number::whole;
use crate::args::{AgentArgs, FleetFlags, FleetKeys, ObserveFlags, ServiceHostFlag};
use crate::problem::{Problem, on_one_line, reason};
use crate::store;

/// Most agents of a run: as many as a load has parts.
const AGENTS_MAX: u64 = knee_core::share::SEGMENTS_MAX as u64;
/// Ceilings of an agent whose file names none.
const RATE_MAX: f64 = 10_000.0;
const USERS_MAX: u64 = 10_000;
const DURATION_MAX: Nanos = Nanos::from_secs(3_600);

/// The machines that make a load.
#[derive(Clone)]
pub struct FleetChoice {
    /// Where they are reached.
    pub link: Link,
    /// Which of them.
    pub wanted: Wanted,
    /// Who signs.
    pub signer: Arc<Signer>,
    /// Whether they can have other builds.
    pub mixed: bool,
}

impl fmt::Debug for FleetChoice {
    /// Without what logs in.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "FleetChoice({:?}, {:?})", self.wanted, self.signer)
    }
}

/// Resolves the flags of a load; `None` if this machine makes it.
///
/// # Errors
///
/// If a value is out of range, or the key cannot be read.
pub fn choice(flags: &FleetFlags) -> Result<Option<FleetChoice>, Problem> {
    let Some(nats) = &flags.nats else { return Ok(None) };
    let count = flags.agents.as_deref().map(|text| whole("--agents", text, 1..=AGENTS_MAX)).transpose()?;
    let wanted = match (count, &flags.fleet) {
        (Some(count), fleet) => Wanted::Count { count: count as u32, fleet: fleet.clone() },
        (None, Some(fleet)) => Wanted::Fleet(fleet.clone()),
        (None, None) => {
            return Err(Problem::new(
                "`--nats` does not say which agents make the load",
                "add `--agents N`, or `--fleet NAME` for all agents of a fleet",
            ));
        }
    };
    let signer = Arc::new(signer(&flags.keys)?);
    Ok(Some(FleetChoice { link: link(nats, &flags.keys), wanted, signer, mixed: flags.mixed_builds }))
}

/// Refuses outputs of a fleet, because its intervals are with the agents.
///
/// # Errors
///
/// If there is any.
pub fn refuse_pushes(flags: &FleetFlags, out: &[String]) -> Result<(), Problem> {
    if flags.nats.is_none() || out.is_empty() {
        return Ok(());
    }
    Err(Problem::new("`--out` does not work with a fleet", "leave it out; the record has the figures"))
}

/// The machines that load what this machine starts, and how they reach it.
#[derive(Clone, Debug)]
pub struct Remote {
    /// The machines.
    pub choice: FleetChoice,
    host: Option<String>,
}

impl Remote {
    /// Resolves the flags of a series of trials; `None` if this machine makes the loads.
    ///
    /// # Errors
    ///
    /// As [`choice`], and if the host is none.
    pub fn of(flags: &FleetFlags, host: &ServiceHostFlag) -> Result<Option<Self>, Problem> {
        let Some(choice) = choice(flags)? else { return Ok(None) };
        let remote = Self { choice, host: host.service_host.clone() };
        remote.seen("http://127.0.0.1:1/")?;
        Ok(Some(remote))
    }

    /// Refuses what only the machine that makes a load can do.
    ///
    /// # Errors
    ///
    /// If agents make the loads, and something is to be watched beside them.
    pub fn refuse_observers(remote: Option<&Self>, observe: &ObserveFlags) -> Result<(), Problem> {
        if remote.is_none() || observe.targets.is_empty() {
            return Ok(());
        }
        let hint = "run `knee find` or a load of one machine beside the fleet";
        Err(Problem::new("`--observe` does not work with a fleet", hint))
    }

    /// The address under which the agents reach what answers here at `url`.
    ///
    /// # Errors
    ///
    /// If the host is none.
    pub fn seen(&self, url: &str) -> Result<String, Problem> {
        let Some(host) = &self.host else { return Ok(url.to_owned()) };
        let wrong = || {
            let what = format!("`{}` is not a host, for `--service-host`", on_one_line(host));
            Problem::new(what, "give a name or an address without a port, such as 10.0.0.1")
        };
        let bracketed = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.clone() };
        // `set_host` would leave out what is behind a colon.
        Host::parse(&bracketed).map_err(|_| wrong())?;
        let mut seen = Url::parse(url).map_err(|_| wrong())?;
        seen.set_host(Some(&bracketed)).map_err(|_| wrong())?;
        // A URL without a path has one after it was parsed.
        let text = seen.to_string();
        Ok(if url.ends_with('/') { text } else { text.trim_end_matches('/').to_owned() })
    }

    /// The flags that choose the machines, for a command that repeats the trials: without addresses and secrets.
    pub fn words(flags: &FleetFlags, host: &ServiceHostFlag) -> Vec<String> {
        if flags.nats.is_none() {
            return Vec::new();
        }
        let mut words = vec!["--nats".to_owned(), "NATS".to_owned()];
        for (flag, value) in [("--agents", &flags.agents), ("--fleet", &flags.fleet)] {
            words.extend(value.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        words.extend(host.service_host.iter().flat_map(|_| ["--service-host".to_owned(), "HOST".to_owned()]));
        words
    }
}

/// How a controller reaches NATS.
pub fn link(url: &str, keys: &FleetKeys) -> Link {
    Link {
        url: url.to_owned(),
        credentials: keys.nats_creds.clone(),
        nkey: None,
        authorities: keys.nats_ca.clone(),
    }
}

/// The file of the key.
///
/// # Errors
///
/// If the environment names no home and no file is named.
pub fn key_file(keys: &FleetKeys) -> Result<PathBuf, Problem> {
    let own = || store::home(|name| std::env::var_os(name)).map(|home| home.join("fleet.key"));
    keys.fleet_key.clone().or_else(own).ok_or_else(|| {
        Problem::new("there is no home for the key of the fleet", "name a file with `--fleet-key`")
    })
}

/// The key that signs orders.
///
/// # Errors
///
/// If there is none.
pub fn signer(keys: &FleetKeys) -> Result<Signer, Problem> {
    read_key(&key_file(keys)?)
}

fn read_key(path: &Path) -> Result<Signer, Problem> {
    let shown = path.display();
    let seed = std::fs::read_to_string(path).map_err(|error| {
        let what = format!("the key of the fleet, `{shown}`: {}", reason(&error));
        Problem::new(
            what,
            "make one with `knee fleet key`, and write the public key it prints into each agent.toml",
        )
    })?;
    let hint = "give the file that `knee fleet key` made";
    Signer::of_seed(&seed).map_err(|error| Problem::new(format!("`{shown}`: {error}"), hint))
}

/// The key that signs orders; makes it if there is none, readable for its owner only.
///
/// # Errors
///
/// If the file cannot be written, or is no key.
pub fn signer_or_new(keys: &FleetKeys) -> Result<(Signer, PathBuf), Problem> {
    let path = key_file(keys)?;
    if path.exists() {
        return Ok((read_key(&path)?, path));
    }
    let failed = |error: &dyn fmt::Display| {
        Problem::new(format!("`{}`: {error}", path.display()), "name another file with `--fleet-key`")
    };
    let signer = Signer::random();
    let seed = signer.seed().map_err(|error| failed(&error))?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_file::create_folder(folder).map_err(|error| failed(&reason(&error)))?;
    }
    let mut file = private_file::create_new(&path).map_err(|error| failed(&reason(&error)))?;
    std::io::Write::write_all(&mut file, format!("{seed}\n").as_bytes())
        .map_err(|error| failed(&reason(&error)))?;
    Ok((signer, path))
}

/// The file of an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentFile {
    nats: Option<String>,
    credentials: Option<PathBuf>,
    nkey: Option<PathBuf>,
    authorities: Option<PathBuf>,
    id: Option<String>,
    fleet: Option<String>,
    folder: Option<PathBuf>,
    signers: Vec<String>,
    targets: Vec<String>,
    max_rate: Option<f64>,
    max_users: Option<u64>,
    max_duration: Option<String>,
}

/// An agent that is ready to serve.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// Where NATS is.
    pub link: Link,
    /// Its name.
    pub id: AgentId,
    /// The fleet that it belongs to.
    pub fleet: Option<String>,
    /// Where its records go.
    pub folder: PathBuf,
    /// Whose orders count.
    pub signers: Vec<String>,
    /// What it lets itself be used for.
    pub policy: Policy,
}

/// Resolves the flags and the file of an agent.
///
/// # Errors
///
/// If the file cannot be read, has an unknown or wrong setting, or something is missing.
pub fn agent(args: &AgentArgs) -> Result<AgentSettings, Problem> {
    let shown = args.config.display().to_string();
    let text = std::fs::read_to_string(&args.config).map_err(|error| {
        let what = format!("the settings of the agent, `{shown}`: {}", reason(&error));
        Problem::new(what, "`knee agent --help` shows what is in the file; name it with `--config`")
    })?;
    let file: AgentFile = toml::from_str(&text).map_err(|error| {
        Problem::new(
            format!("`{shown}`: {}", error.message()),
            "`knee agent --help` shows what is in the file",
        )
    })?;
    let wrong = |name: &str, error: &dyn fmt::Display| {
        Problem::new(format!("`{shown}`, `{name}`: {error}"), "docs/guide/fleet.md lists the settings")
    };
    let url = args.nats.clone().or(file.nats).ok_or_else(|| {
        Problem::new(
            format!("`{shown}` names no NATS server"),
            "add `nats = \"nats://HOST:4222\"`, or use `--nats`",
        )
    })?;
    for signer in &file.signers {
        check_public(signer).map_err(|error| wrong("signers", &error))?;
    }
    let targets = file.targets.iter().map(|text| text.parse::<TargetRule>());
    let targets = targets.collect::<Result<_, _>>().map_err(|error| wrong("targets", &error))?;
    let id = args.id.clone().or(file.id).unwrap_or_else(machine_name);
    let id = id.parse().map_err(|error| wrong("id", &error))?;
    let nkey = file.nkey.as_deref().map(std::fs::read_to_string).transpose();
    let nkey = nkey.map_err(|error| wrong("nkey", &reason(&error)))?.map(|seed| seed.trim().to_owned());
    if let Some(rate) = file.max_rate.filter(|rate| !rate.is_finite() || *rate <= 0.0) {
        return Err(wrong("max_rate", &format!("{rate} is no number of arrivals per second")));
    }
    let duration = file.max_duration.as_deref().map_or(Ok(DURATION_MAX), str::parse);
    let policy = Policy {
        targets,
        rate_max: file.max_rate.unwrap_or(RATE_MAX),
        users_max: file.max_users.unwrap_or(USERS_MAX),
        duration_max: duration.map_err(|error| wrong("max_duration", &error))?,
    };
    let home = || store::home(|name| std::env::var_os(name)).map(|home| home.join("agent"));
    let folder = file.folder.or_else(home);
    let folder = folder.ok_or_else(|| wrong("folder", &"there is no home for the records"))?;
    let link = Link { url, credentials: file.credentials, nkey, authorities: file.authorities };
    Ok(AgentSettings { link, id, fleet: file.fleet, folder, signers: file.signers, policy })
}

/// The name of this machine, as far as it can be the name of an agent.
fn machine_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    let first = name.split('.').next().unwrap_or_default();
    let kept: String =
        first.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    if kept.is_empty() { "agent".to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AgentSettings, Problem> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("agent.toml");
        std::fs::write(&config, text).unwrap();
        let mut args = AgentArgs::default();
        (args.config, args.id) = (config, Some("load-01".to_owned()));
        agent(&args)
    }

    #[test]
    fn agents_get_the_address_that_they_can_reach() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fleet.key");
        signer_or_new(&FleetKeys { fleet_key: Some(file.clone()), ..FleetKeys::default() }).unwrap();
        let remote = |host: &str| {
            let flags = FleetFlags {
                nats: Some("nats://127.0.0.1".to_owned()),
                agents: Some("2".to_owned()),
                keys: FleetKeys { fleet_key: Some(file.clone()), ..FleetKeys::default() },
                ..FleetFlags::default()
            };
            Remote::of(&flags, &ServiceHostFlag { service_host: Some(host.to_owned()) })
        };
        let seen = |host: &str, url: &str| remote(host).unwrap().unwrap().seen(url).unwrap();
        assert_eq!(seen("10.0.0.1", "http://127.0.0.1:4711"), "http://10.0.0.1:4711");
        assert_eq!(seen("load.test", "http://127.0.0.1:4711/a?b=c"), "http://load.test:4711/a?b=c");
        assert_eq!(seen("fd00::1", "http://127.0.0.1:4711/"), "http://[fd00::1]:4711/");
        for host in ["", "a:80", "a/b", "a b"] {
            assert!(remote(host).is_err(), "{host}");
        }
        let nobody = Remote::of(&FleetFlags::default(), &ServiceHostFlag::default());
        assert!(nobody.unwrap().is_none());
    }

    #[test]
    fn an_agent_without_targets_and_signers_is_allowed_and_does_nothing() {
        let settings = read("nats = \"nats://127.0.0.1:4222\"").unwrap();
        assert!(settings.policy.targets.is_empty() && settings.signers.is_empty());
        assert_eq!(settings.policy.duration_max, DURATION_MAX);
    }

    #[test]
    fn mistakes_in_the_file_are_named() {
        let nats = "nats = \"nats://127.0.0.1\"\n";
        for (text, word) in [
            ("", "names no NATS server"),
            ("natz = 1", "natz"),
            (&format!("{nats}targets = [\"http://a\"]"), "`targets`: `http://a`"),
            (&format!("{nats}signers = [\"SU123\"]"), "`signers`: `SU123`"),
            (&format!("{nats}max_duration = \"long\""), "`max_duration`"),
            (&format!("{nats}max_rate = \"x\""), "invalid type"),
            (&format!("{nats}max_rate = inf"), "`max_rate`: inf"),
            (&format!("{nats}max_rate = 0.0"), "`max_rate`: 0"),
        ] {
            let problem = read(text).unwrap_err().what;
            assert!(problem.contains(word), "{problem}");
        }
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/fleet.key");
        let keys = FleetKeys { fleet_key: Some(path.clone()), ..FleetKeys::default() };
        assert!(signer(&keys).unwrap_err().hint.contains("knee fleet key"));
        let (first, _) = signer_or_new(&keys).unwrap();
        let (second, _) = signer_or_new(&keys).unwrap();
        assert_eq!(first.public(), second.public());
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o077, 0);
    }
}
