//! A private PostgreSQL cluster in the fixture's folder: created by `initdb`, started, and reset from a template.
//!
//! One database, `knee`, owned by the superuser `knee`. Its socket needs no password. Its loopback address needs one,
//! because other users of the machine can reach it too. Does not decide when data is reset.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use knee_core::fixture::{Postgres, Replication, Setting};

use crate::error::{Error, is_full_disk, says_full};
use crate::folder::{self, User};
use crate::launcher::{Launcher, QUOTED};
use crate::placeholder::Placeholders;
use crate::placement::{self, Bounds, Unavailable};
use crate::program::{self, Installed};
use crate::registry::{self, Handle, Launch, StopSignal};
use crate::{platform, ready, unprivileged};

pub(crate) mod counting;
mod replica;
mod settings;
pub(crate) mod sql;

use counting::Counting;
pub(crate) use settings::text_of;
use sql::Endpoint;

/// The superuser of a cluster.
const USER: &str = "knee";

/// The database that services use.
pub(crate) const DATABASE: &str = "knee";

/// The name of a replica on its primary, as application and as slot.
const REPLICA: &str = "knee_replica";

/// Servers say by this setting that knee started them: an observer has nothing to say about their superuser.
const STARTED: &str = "knee.started";

/// The file in a data folder with the settings that a study declares.
const CONFIGURATION: &str = "knee.conf";

/// Time limit for a server to become ready, in seconds; after a kill it reads its log first.
const READY_WITHIN_S: f64 = 60.0;

/// Time limit for it to stop before it is killed, in seconds.
const STOP_WITHIN_S: f64 = 20.0;

/// A server process with its data.
#[derive(Debug)]
struct Server {
    who: String,
    data: PathBuf,
    log: PathBuf,
    port: u16,
    process: Option<Handle>,
    /// Why each of its processes competes for CPUs separately, if so.
    unavailable: Option<Unavailable>,
}

/// A cluster: a primary, and perhaps a replica.
#[derive(Debug)]
pub(crate) struct Cluster {
    name: String,
    declared: Postgres,
    installed: Installed,
    user: Option<User>,
    cpus: Vec<usize>,
    folder: PathBuf,
    password: String,
    /// The settings in effect, including those of a variant.
    settings: BTreeMap<String, Setting>,
    counting: Counting,
    primary: Server,
    replica: Option<Server>,
}

impl Cluster {
    /// Makes and starts a cluster with an empty database. It counts its statements if `counts` asks for it and the
    /// installation can.
    pub(crate) fn up(
        launcher: &Launcher,
        name: &str,
        declared: &Postgres,
        counts: bool,
        cpus: Vec<usize>,
        logs: &Path,
    ) -> Result<Self, Error> {
        let installed = program::postgres(declared.min_version)?;
        let user = unprivileged::for_postgres(&launcher.root)?;
        let folder = launcher.root.join(format!("postgres-{name}"));
        check_socket(&folder)?;
        folder::create(&folder, user)?;
        let server = |role: &str, who: String| {
            let log = logs.join(format!("postgres-{name}{role}.log"));
            Server {
                who,
                data: folder.join(format!("data{role}")),
                log,
                port: 0,
                process: None,
                unavailable: None,
            }
        };
        let replica =
            declared.replica.map(|_| server("-replica", format!("the replica of PostgreSQL `{name}`")));
        let mut cluster = Self {
            name: name.to_owned(),
            declared: declared.clone(),
            installed,
            user,
            cpus,
            password: password()?,
            settings: declared.settings.clone(),
            counting: Counting::of(counts),
            primary: server("", format!("PostgreSQL `{name}`")),
            replica,
            folder,
        };
        cluster.initialise(launcher)?;
        cluster.start_first(launcher)?;
        cluster.create_database(DATABASE, None)?;
        if cluster.replica.is_some() {
            cluster.follow(launcher)?;
        }
        Ok(cluster)
    }

    /// Adds the placeholders of this cluster that texts can contain.
    pub(crate) fn placeholders(&self, placeholders: &mut Placeholders) {
        let mut put = |key: &str, value: String| {
            placeholders.insert(format!("postgres.{}.{key}", self.name), value);
        };
        let tcp = |port: u16| format!("postgres://{USER}:{}@127.0.0.1:{port}/{DATABASE}", self.password);
        let sockets = self.folder.display().to_string();
        put("url", tcp(self.primary.port));
        put(
            "socket_url",
            format!("postgres://{USER}@{}:{}/{DATABASE}", sockets.replace('/', "%2F"), self.primary.port),
        );
        put("host", "127.0.0.1".to_owned());
        put("sockets", sockets);
        put("port", self.primary.port.to_string());
        put("user", USER.to_owned());
        put("password", self.password.clone());
        put("database", DATABASE.to_owned());
        if let Some(replica) = &self.replica {
            put("replica_url", tcp(replica.port));
            put("replica_port", replica.port.to_string());
        }
    }

    /// Processes of the cluster, the writing one first.
    pub(crate) fn processes(&self) -> Vec<Handle> {
        self.primary
            .process
            .into_iter()
            .chain(self.replica.as_ref().and_then(|replica| replica.process))
            .collect()
    }

    /// Its servers, the writing one first.
    pub(crate) fn servers(&self) -> Vec<Endpoint> {
        std::iter::once(&self.primary).chain(&self.replica).map(|server| self.endpoint(server)).collect()
    }

    /// The major version of its servers.
    pub(crate) const fn version(&self) -> u32 {
        self.installed.version
    }

    /// The server that writes.
    pub(crate) fn writer(&self) -> Endpoint {
        self.endpoint(&self.primary)
    }

    /// Moves its processes to `cpus`, unless the declaration names its CPUs.
    pub(crate) fn place(&mut self, cpus: &[usize]) {
        if self.declared.cpus.is_some() {
            return;
        }
        self.cpus = cpus.to_vec();
        self.processes().iter().for_each(|process| platform::pin_tree(process.pid, cpus));
    }

    /// Declared settings of its servers that are unavailable here.
    pub(crate) fn unavailable(&self) -> Vec<Unavailable> {
        let servers = std::iter::once(&self.primary).chain(&self.replica);
        servers.filter_map(|server| server.unavailable.clone()).chain(self.counting.lacks()).collect()
    }

    /// An error if one of its servers has ended.
    pub(crate) fn check(&self, launcher: &Launcher) -> Result<(), Error> {
        for server in std::iter::once(&self.primary).chain(&self.replica) {
            server.check(launcher, false)?;
            // It can have got more since it was started.
            server.process.into_iter().for_each(|process| launcher.remember(process));
        }
        Ok(())
    }

    /// Puts `more` on top of the declared settings. If that changes any, the servers are restarted.
    pub(crate) fn apply_settings(
        &mut self,
        launcher: &Launcher,
        more: &BTreeMap<String, Setting>,
    ) -> Result<(), Error> {
        let mut wanted = self.declared.settings.clone();
        wanted.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        if wanted == self.settings {
            return Ok(());
        }
        // Checked before anything is stopped.
        self.configuration(&wanted)?;
        self.stop(launcher)?;
        self.settings = wanted;
        self.start(launcher)?;
        if self.replica.is_some() {
            self.start_replica(launcher)?;
        }
        Ok(())
    }

    /// Runs statements of a study in the database of the services, each in a transaction of its own.
    pub(crate) fn run(&self, statements: &[String]) -> Result<(), Error> {
        statements.iter().try_for_each(|statement| {
            let doing = format!("run the statement `{statement}`");
            self.ask(&doing, DATABASE, std::slice::from_ref(statement)).map(drop)
        })
    }

    /// Saves the database under `key`, so that [`Self::restore`] can restore it.
    pub(crate) fn save(&self, key: usize) -> Result<(), Error> {
        // What autovacuum would do at some time during a trial is done now, the same for all of them.
        // Each table is a commit of its own, and none needs to be flushed before the next.
        let tidy = ["SET synchronous_commit = off", "VACUUM (FREEZE, ANALYZE)"].map(str::to_owned);
        self.ask("tidy up after the seed", DATABASE, &tidy)?;
        let saved = sql::name(&saved(key));
        let copy = [
            disconnect(DATABASE),
            format!("CREATE DATABASE {saved} TEMPLATE {DATABASE}{}", self.strategy()),
            format!("ALTER DATABASE {saved} ALLOW_CONNECTIONS false IS_TEMPLATE true"),
        ];
        self.ask("save the seeded database", "postgres", &copy).map(drop)
    }

    /// Restores the database that was saved under `key`.
    pub(crate) fn restore(&self, launcher: &Launcher, key: usize) -> Result<(), Error> {
        self.drop_database()?;
        self.create_database(DATABASE, Some(&saved(key)))?;
        self.flush(launcher)
    }

    /// Replaces the database by an empty one.
    pub(crate) fn empty(&self, launcher: &Launcher) -> Result<(), Error> {
        self.drop_database()?;
        self.create_database(DATABASE, None)?;
        self.flush(launcher)
    }

    /// Ends the servers, the replica first, so that the primary can send it all it has.
    pub(crate) fn stop(&mut self, launcher: &Launcher) -> Result<(), Error> {
        for server in self.replica.iter_mut().chain(std::iter::once(&mut self.primary)) {
            if let Some(process) = server.process.take() {
                launcher.stop(process, StopSignal::Interrupt, STOP_WITHIN_S)?;
            }
        }
        Ok(())
    }

    /// Writes everything in memory to disk and to the replica, so that no trial pays for the reset.
    fn flush(&self, launcher: &Launcher) -> Result<(), Error> {
        self.ask("write a checkpoint", "postgres", &["CHECKPOINT".to_owned()])?;
        if self.replica.is_some() { self.wait_for_replica(launcher) } else { Ok(()) }
    }

    fn initialise(&self, launcher: &Launcher) -> Result<(), Error> {
        let file = self.folder.join("password");
        folder::write(&file, &self.password, self.user)?;
        let mut args: Vec<String> = ["--username", USER, "--auth-local=trust", "--auth-host=scram-sha-256"]
            .map(str::to_owned)
            .to_vec();
        args.extend(["--encoding=UTF8", "--no-locale", "--no-sync"].map(str::to_owned));
        args.push(format!("--pwfile={}", file.display()));
        args.push(format!("--pgdata={}", self.primary.data.display()));
        let launch = self.tool("initdb", args, "initdb");
        launcher.run_well(&launch, &format!("initdb for PostgreSQL `{}`", self.name))?;
        let main = self.primary.data.join("postgresql.conf");
        let text = fs::read_to_string(&main).map_err(|error| Error::folder("read", &main, error))?;
        let text = format!("{text}\ninclude '{CONFIGURATION}'\n");
        folder::write(&main, &text, self.user)
    }

    /// The text of the configuration with these settings.
    fn configuration(&self, wanted: &BTreeMap<String, Setting>) -> Result<String, Error> {
        let mut ours = vec![
            ("listen_addresses", "127.0.0.1".to_owned()),
            ("unix_socket_directories", self.folder.display().to_string()),
            ("logging_collector", "off".to_owned()),
            ("log_destination", "stderr".to_owned()),
            (STARTED, "on".to_owned()),
        ];
        if self.declared.replica == Some(Replication::Sync) && self.replica_runs() {
            ours.push(("synchronous_standby_names", format!("\"{REPLICA}\"")));
        }
        let mut extensions = self.declared.extensions.clone();
        extensions.extend(self.counts().then(|| counting::EXTENSION.to_owned()));
        settings::lines(wanted, &extensions, &ours, &format!("postgres.{}.settings", self.name))
    }

    /// Whether its servers count their statements.
    pub(crate) fn counts(&self) -> bool {
        self.counting == Counting::Yes
    }

    fn replica_runs(&self) -> bool {
        self.replica.as_ref().is_some_and(|replica| replica.data.exists())
    }

    /// Starts the primary for the first time; without counting statements if its installation cannot.
    fn start_first(&mut self, launcher: &Launcher) -> Result<(), Error> {
        match self.start(launcher) {
            Err(Error::Died { last_lines, .. }) if self.counts() && counting::is_missing(&last_lines) => {
                self.counting = Counting::lacking(&self.primary.who);
                self.start(launcher)?;
            }
            other => other?,
        }
        if self.counts() {
            self.ask("count its statements", "postgres", &counting::create_for_fixture())?;
        }
        Ok(())
    }

    fn start(&mut self, launcher: &Launcher) -> Result<(), Error> {
        let text = self.configuration(&self.settings)?;
        folder::write(&self.primary.data.join(CONFIGURATION), &text, self.user)?;
        let mut server = std::mem::replace(&mut self.primary, Server::empty());
        let started = self.bring_up(launcher, &mut server);
        self.primary = server;
        started
    }

    /// Starts a server on a free port; tries another port if a program takes that one first.
    fn bring_up(&self, launcher: &Launcher, server: &mut Server) -> Result<(), Error> {
        const TRIES: usize = 3;
        for attempt in 1..=TRIES {
            match self.try_port(launcher, server) {
                Err(Error::Died { last_lines, .. })
                    if attempt < TRIES && last_lines.iter().any(|line| line.contains("already in use")) =>
                {
                    server.port = 0;
                }
                other => return other,
            }
        }
        Ok(())
    }

    fn try_port(&self, launcher: &Launcher, server: &mut Server) -> Result<(), Error> {
        if server.port == 0 || !ready::is_free(server.port) {
            server.port =
                ready::free_port().map_err(|error| Error::folder("listen in", &self.folder, error))?;
        }
        let args =
            ["-D".to_owned(), server.data.display().to_string(), "-p".to_owned(), server.port.to_string()];
        let group = server.group(launcher);
        let launch = Launch {
            log: server.log.clone(),
            stop_signal: StopSignal::Quit,
            group: group.as_ref().ok().cloned(),
            ..self.tool("postgres", args.to_vec(), "")
        };
        let process = launcher.launch(&launch)?;
        server.process = Some(process);
        let what = format!("{} as one competitor for the CPUs", server.who);
        server.unavailable = match group {
            Ok(group) => placement::outside(Some(&group), process.pid, &what),
            Err(reason) => Some(Unavailable { what, reason }),
        };
        let endpoint = self.endpoint(server);
        let mut refused = String::new();
        let mut died = Ok(());
        let up = launcher.wait_until(&format!("waiting for {}", server.who), READY_WITHIN_S, || {
            died = server.check(launcher, true);
            let asked = endpoint.ask("postgres", &["SELECT 1".to_owned()]);
            refused = asked.as_ref().err().cloned().unwrap_or_default();
            died.is_err() || asked.is_ok()
        });
        if let (Ok(()), Ok(true)) = (&died, &up) {
            launcher.remember(process);
            return Ok(());
        }
        launcher.kill(process);
        server.process = None;
        died?;
        up?;
        let last_lines = folder::last_lines(&server.log, QUOTED);
        Err(Error::NeverReady {
            who: server.who.clone(),
            within_s: READY_WITHIN_S,
            waited_for: refused,
            last_lines,
        })
    }

    fn create_database(&self, name: &str, template: Option<&str>) -> Result<(), Error> {
        let name_of = sql::name;
        let from = template.map(|template| format!(" TEMPLATE {}{}", name_of(template), self.strategy()));
        let create = format!("CREATE DATABASE {}{}", name_of(name), from.unwrap_or_default());
        self.ask("create the database", "postgres", &[create])?;
        if template.is_some() {
            return Ok(());
        }
        for extension in &self.declared.extensions {
            let create = format!("CREATE EXTENSION IF NOT EXISTS {} CASCADE", name_of(extension));
            self.ask(&format!("create the extension `{extension}`"), name, &[create])?;
        }
        if self.counts() && !self.declared.extensions.iter().any(|declared| declared == counting::EXTENSION) {
            self.ask("count its statements", name, &counting::create_for_services())?;
        }
        if self.counts() {
            self.create_hypopg(name);
        }
        Ok(())
    }

    /// Creates HypoPG if the installation has it. Nothing needs it, so that a refusal is no error.
    fn create_hypopg(&self, database: &str) {
        let writer = self.writer();
        let has_it = writer.ask(database, &counting::has_hypopg()).is_ok_and(|name| name.is_some());
        if has_it {
            let _ = writer.ask(database, &counting::create_hypopg());
        }
    }

    fn drop_database(&self) -> Result<(), Error> {
        let remove = [disconnect(DATABASE), format!("DROP DATABASE IF EXISTS {DATABASE}{}", self.force())];
        self.ask("drop the database", "postgres", &remove).map(drop)
    }

    /// Copies files instead of writing every page to the log, if the server has this option.
    fn strategy(&self) -> &'static str {
        if self.installed.version >= 15 { " STRATEGY file_copy" } else { "" }
    }

    /// Ends connections that are opened meanwhile, if the server can.
    fn force(&self) -> &'static str {
        if self.installed.version >= 13 { " WITH (FORCE)" } else { "" }
    }

    fn endpoint(&self, server: &Server) -> Endpoint {
        Endpoint { sockets: self.folder.clone(), port: server.port, user: USER }
    }

    fn ask(&self, doing: &str, database: &str, statements: &[String]) -> Result<Option<String>, Error> {
        self.endpoint(&self.primary).ask(database, statements).map_err(|reason| {
            if says_full(std::slice::from_ref(&reason)) {
                return Error::DiskFull { what: self.primary.who.clone(), path: self.folder.clone() };
            }
            Error::Store { who: self.primary.who.clone(), doing: doing.to_owned(), reason }
        })
    }

    /// A program of PostgreSQL, run as the user that the cluster belongs to.
    fn tool(&self, name: &str, args: Vec<String>, log: &str) -> Launch {
        let mut env = vec![
            ("LC_ALL".to_owned(), "C".to_owned()),
            ("HOME".to_owned(), self.folder.display().to_string()),
        ];
        env.extend(
            ["PATH", "TZ"].iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))),
        );
        Launch {
            program: self.installed.bin.join(name),
            args,
            env,
            folder: self.folder.clone(),
            log: self.folder.join(format!("{log}.log")),
            user: self.user.map(|user| (user.uid, user.gid)),
            cpus: self.cpus.clone(),
            group: None,
            stop_signal: StopSignal::Terminate,
        }
    }
}

impl Server {
    /// Placeholder while the real one is borrowed.
    fn empty() -> Self {
        Self {
            who: String::new(),
            data: PathBuf::new(),
            log: PathBuf::new(),
            port: 0,
            process: None,
            unavailable: None,
        }
    }

    /// A cgroup for one start. Each process of PostgreSQL has its own session, and the kernel divides CPU time between
    /// sessions. Without a cgroup, a hundred connections compete with the generator as a hundred.
    fn group(&self, launcher: &Launcher) -> Result<PathBuf, String> {
        let name = self.data.strip_prefix(&launcher.root).unwrap_or(&self.data).display().to_string();
        let bounds = Bounds { share: None, generator_weight: launcher.generator_weight };
        platform::create_group(&registry::group_of(&launcher.root, &name.replace('/', "-")), bounds)
    }

    /// An error if it is gone.
    fn check(&self, launcher: &Launcher, at_start: bool) -> Result<(), Error> {
        let Some(process) = self.process else { return Ok(()) };
        let Some(exit) = launcher.poll(process)? else { return Ok(()) };
        let last_lines = folder::last_lines(&self.log, QUOTED);
        if is_full_disk(&last_lines, &self.data) {
            return Err(Error::DiskFull { what: self.who.clone(), path: self.data.clone() });
        }
        Err(Error::Died { who: self.who.clone(), at_start, exit, log: self.log.clone(), last_lines })
    }
}

/// The name of a saved database.
fn saved(key: usize) -> String {
    format!("knee_seeded_{key}")
}

fn disconnect(database: &str) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = '{database}' AND pid <> pg_backend_pid()"
    )
}

/// The path of a socket has a length limit, which the system's error does not mention.
fn check_socket(folder: &Path) -> Result<(), Error> {
    const LONGEST: usize = 103 - "/.s.PGSQL.65535".len();
    if folder.as_os_str().len() <= LONGEST {
        return Ok(());
    }
    let text = "is too long for the path of a socket; point TMPDIR at a shorter one";
    Err(Error::declared(folder.display().to_string(), text))
}

/// A password that cannot be guessed.
pub(crate) fn password() -> Result<String, Error> {
    use std::io::Read;
    let path = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Error::folder("read", path, error))?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
