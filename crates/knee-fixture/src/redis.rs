//! A private Redis or Valkey server in the fixture's folder: started, its keys kept in a file, and loaded again.
//!
//! Not persistent unless a setting asks for it. Does not decide when data is reset.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use knee_core::fixture::{Redis, Setting};
use redis::Connection;

use crate::error::Error;
use crate::folder;
use crate::launcher::{Launcher, QUOTED};
use crate::placeholder::Placeholders;
use crate::placement::Bounds;
use crate::postgres::{password, text_of};
use crate::registry::{self, Handle, Launch, StopSignal};
use crate::{platform, program, ready};

mod keys;

use keys::Trouble;

/// Time limit for a server to become ready, in seconds.
const READY_WITHIN_S: f64 = 30.0;

/// Time limit for it to stop before it is killed, in seconds.
const STOP_WITHIN_S: f64 = 10.0;

/// Settings that the fixture sets, because it must find the server and its log.
const RESERVED: [&str; 9] =
    ["port", "bind", "unixsocket", "unixsocketperm", "dir", "daemonize", "logfile", "pidfile", "supervised"];

/// A server with its data.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    declared: Redis,
    program: PathBuf,
    cpus: Vec<usize>,
    folder: PathBuf,
    log: PathBuf,
    password: String,
    port: u16,
    settings: BTreeMap<String, Setting>,
    process: Option<Handle>,
}

impl Server {
    /// Starts an empty server.
    pub(crate) fn up(
        launcher: &Launcher,
        name: &str,
        declared: &Redis,
        cpus: Vec<usize>,
        logs: &Path,
    ) -> Result<Self, Error> {
        let folder = launcher.root.join(format!("redis-{name}"));
        let mut server = Self {
            name: name.to_owned(),
            declared: declared.clone(),
            program: program::redis()?,
            cpus,
            log: logs.join(format!("redis-{name}.log")),
            password: password()?,
            port: 0,
            settings: declared.settings.clone(),
            process: None,
            folder,
        };
        server.configuration(&server.settings)?;
        folder::create(&server.folder, None)?;
        server.start(launcher)?;
        Ok(server)
    }

    /// Adds the placeholders of this server that texts can contain.
    pub(crate) fn placeholders(&self, placeholders: &mut Placeholders) {
        let mut put = |key: &str, value: String| {
            placeholders.insert(format!("redis.{}.{key}", self.name), value);
        };
        put("url", self.url());
        let socket = self.folder.join("socket");
        put("socket", socket.display().to_string());
        put("host", "127.0.0.1".to_owned());
        put("port", self.port.to_string());
        put("password", self.password.clone());
    }

    /// Moves its process to `cpus`, unless the declaration names its CPUs.
    pub(crate) fn place(&mut self, cpus: &[usize]) {
        if self.declared.cpus.is_some() {
            return;
        }
        self.cpus = cpus.to_vec();
        self.process.iter().for_each(|process| platform::pin_tree(process.pid, cpus));
    }

    /// The process.
    pub(crate) fn process(&self) -> Option<Handle> {
        self.process
    }

    /// An error if it has ended.
    pub(crate) fn check(&self, launcher: &Launcher) -> Result<(), Error> {
        self.check_at(launcher, false)
    }

    /// Puts `more` on top of the declared settings. If that changes any, the server is restarted and loses its keys.
    pub(crate) fn apply_settings(
        &mut self,
        launcher: &Launcher,
        more: &BTreeMap<String, Setting>,
    ) -> Result<bool, Error> {
        let mut wanted = self.declared.settings.clone();
        wanted.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        if wanted == self.settings {
            return Ok(false);
        }
        self.configuration(&wanted)?;
        self.stop(launcher)?;
        folder::remove(&self.folder)?;
        folder::create(&self.folder, None)?;
        self.settings = wanted;
        self.start(launcher)?;
        Ok(true)
    }

    /// Saves all keys with their remaining lifetime in `file`.
    pub(crate) fn save(&self, file: &Path) -> Result<(), Error> {
        let written = self.connection().and_then(|mut connection| keys::save(&mut connection, file));
        written.map_err(|trouble| self.failed("save the seeded keys", &trouble))
    }

    /// Replaces all keys by those of `file`.
    pub(crate) fn restore(&self, file: &Path) -> Result<(), Error> {
        self.empty()?;
        let loaded = self.connection().and_then(|mut connection| keys::load(&mut connection, file));
        loaded.map_err(|trouble| self.failed("load the seeded keys", &trouble))
    }

    /// Removes all keys.
    pub(crate) fn empty(&self) -> Result<(), Error> {
        let flushed =
            self.connection().and_then(|mut connection| Ok(redis::cmd("FLUSHALL").exec(&mut connection)?));
        flushed.map_err(|trouble| self.failed("remove all keys", &trouble))
    }

    /// Ends the server.
    pub(crate) fn stop(&mut self, launcher: &Launcher) -> Result<(), Error> {
        if let Some(process) = self.process.take() {
            launcher.stop(process, StopSignal::Terminate, STOP_WITHIN_S)?;
        }
        Ok(())
    }

    fn url(&self) -> String {
        // A user by name: `redis-cli` takes an empty one for a name.
        format!("redis://default:{}@127.0.0.1:{}/0", self.password, self.port)
    }

    fn who(&self) -> String {
        format!("Redis `{}`", self.name)
    }

    fn configuration(&self, settings: &BTreeMap<String, Setting>) -> Result<String, Error> {
        // Not persistent unless asked for, as a cache is.
        let mut text = "save \"\"\nappendonly no\n".to_owned();
        for (name, value) in settings {
            let at = format!("redis.{}.settings.{name}", self.name);
            text.push_str(&line(name, value, &at)?);
        }
        let socket = self.folder.join("socket");
        let (folder, password) = (quoted(&self.folder), &self.password);
        let ours = [
            "bind 127.0.0.1\ndaemonize no\nunixsocketperm 700\nrequirepass ".to_owned(),
            format!("{password}\ndir {folder}\nunixsocket {}\n", quoted(&socket)),
        ];
        text.extend(ours);
        Ok(text)
    }

    fn start(&mut self, launcher: &Launcher) -> Result<(), Error> {
        const TRIES: usize = 3;
        let file = self.folder.join("redis.conf");
        folder::write(&file, &self.configuration(&self.settings)?, None)?;
        for attempt in 1..=TRIES {
            match self.try_port(launcher, &file) {
                Err(Error::Died { last_lines, .. })
                    if attempt < TRIES && last_lines.iter().any(|line| line.contains("already in use")) =>
                {
                    self.port = 0;
                }
                other => return other,
            }
        }
        Ok(())
    }

    fn try_port(&mut self, launcher: &Launcher, file: &Path) -> Result<(), Error> {
        if self.port == 0 || !ready::is_free(self.port) {
            self.port =
                ready::free_port().map_err(|error| Error::folder("listen in", &self.folder, error))?;
        }
        let args = vec![file.display().to_string(), "--port".to_owned(), self.port.to_string()];
        let env =
            ["PATH", "HOME"].iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let process = launcher.launch(&Launch {
            program: self.program.clone(),
            args,
            env: env.chain([("LC_ALL".to_owned(), "C".to_owned())]).collect(),
            folder: self.folder.clone(),
            log: self.log.clone(),
            user: None,
            cpus: self.cpus.clone(),
            group: self.group(launcher),
            stop_signal: StopSignal::Terminate,
        })?;
        self.process = Some(process);
        self.wait(launcher).inspect_err(|_| {
            launcher.kill(process);
            self.process = None;
        })
    }

    /// A cgroup for one start, where the generator has a weight. If there is none, the services report it.
    fn group(&self, launcher: &Launcher) -> Option<PathBuf> {
        let generator_weight = Some(launcher.generator_weight?);
        let name = registry::group_of(&launcher.root, &format!("redis-{}", self.name));
        platform::create_group(&name, Bounds { share: None, generator_weight }).ok()
    }

    fn wait(&self, launcher: &Launcher) -> Result<(), Error> {
        let mut died = Ok(());
        let mut refused = String::new();
        let up = launcher.wait_until(&format!("waiting for {}", self.who()), READY_WITHIN_S, || {
            died = self.check_at(launcher, true);
            let asked =
                self.connection().and_then(|mut connection| Ok(redis::cmd("PING").exec(&mut connection)?));
            refused = asked.as_ref().err().map(ToString::to_string).unwrap_or_default();
            died.is_err() || asked.is_ok()
        })?;
        died?;
        if up {
            return Ok(());
        }
        let last_lines = folder::last_lines(&self.log, QUOTED);
        Err(Error::NeverReady { who: self.who(), within_s: READY_WITHIN_S, waited_for: refused, last_lines })
    }

    fn check_at(&self, launcher: &Launcher, at_start: bool) -> Result<(), Error> {
        let Some(process) = self.process else { return Ok(()) };
        let Some(exit) = launcher.poll(process)? else { return Ok(()) };
        let last_lines = folder::last_lines(&self.log, QUOTED);
        Err(Error::Died { who: self.who(), at_start, exit, log: self.log.clone(), last_lines })
    }

    fn connection(&self) -> Result<Connection, Trouble> {
        let client = redis::Client::open(self.url())?;
        Ok(client.get_connection_with_timeout(Duration::from_secs(2))?)
    }

    fn failed(&self, doing: &str, trouble: &Trouble) -> Error {
        if matches!(trouble, Trouble::File(error) if crate::error::is_full(error)) {
            return Error::DiskFull {
                what: format!("the keys of {}", self.who()),
                path: self.folder.clone(),
            };
        }
        Error::Store { who: self.who(), doing: doing.to_owned(), reason: trouble.to_string() }
    }
}

/// A line of the configuration.
fn line(name: &str, value: &Setting, at: &str) -> Result<String, Error> {
    let value = match value {
        Setting::Bool(true) => "yes".to_owned(),
        Setting::Bool(false) => "no".to_owned(),
        other => text_of(other),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(Error::declared(at, "is not the name of a directive"));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) || name.eq_ignore_ascii_case("requirepass") {
        return Err(Error::declared(at, "is set by the fixture"));
    }
    if value.contains(['\n', '\r', '\0']) {
        return Err(Error::declared(at, "has more than one line"));
    }
    // A value can be several words, as `save 60 1000` has; an empty one must be written.
    let value = if value.trim().is_empty() { "\"\"".to_owned() } else { value };
    Ok(format!("{name} {value}\n"))
}

fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_written_as_redis_reads_them() {
        let text = |name: &str, value: Setting| line(name, &value, "x").unwrap();
        assert_eq!(text("appendonly", Setting::Bool(true)), "appendonly yes\n");
        assert_eq!(text("save", Setting::Text("60 1000".into())), "save 60 1000\n");
        assert_eq!(text("save", Setting::Text(String::new())), "save \"\"\n");
        for (name, value) in
            [("port", "1"), ("Dir", "/"), ("a b", "1"), ("maxmemory", "1\nport 2"), ("requirepass", "x")]
        {
            assert!(line(name, &Setting::Text(value.into()), "x").is_err(), "{name}");
        }
    }
}
