//! The only module that starts processes and creates folders; it can therefore end and remove all of them.
//!
//! Used inside of the supervisor (`supervisor`), or inside of the program itself where there is no supervisor. Each
//! call does one thing and returns; the caller waits. Does not know what the processes do.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid, waitpid,
};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::folder;
use crate::platform::{self, SharedMemory};
use crate::started::Started;

/// The environment variable that identifies processes of a fixture, even if they left their group and session.
const MARKER: &str = "KNEE_FIXTURE";

/// Prefix of the names of fixtures' folders.
const PREFIX: &str = "knee-fixture-";

/// The file in a fixture's folder that is locked while the fixture runs.
const LOCK: &str = "lock";

/// The file in a fixture's folder with a line for each process that was started.
const STARTED: &str = "started";

/// Time in which processes can end by themselves when everything is taken down at once.
const LAST_GRACE: Duration = Duration::from_millis(1_500);

/// How to start a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// The program, as a path or a name on PATH.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Its whole environment.
    pub(crate) env: Vec<(String, String)>,
    /// Where it works.
    pub(crate) folder: PathBuf,
    /// The log that its output is appended to.
    pub(crate) log: PathBuf,
    /// User and group to run as.
    pub(crate) user: Option<(u32, u32)>,
    /// The CPUs that it can use.
    pub(crate) cpus: Vec<usize>,
    /// Its cgroup. The process moves into it before it begins. If it runs as a user who cannot do that, it is moved as
    /// it begins.
    pub(crate) group: Option<PathBuf>,
    /// How to ask it to end.
    pub(crate) stop_signal: StopSignal,
}

/// How a process is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopSignal {
    /// SIGTERM to its group.
    Terminate,
    /// SIGINT: PostgreSQL ends its sessions and writes what is not yet on disk.
    Interrupt,
    /// SIGQUIT: PostgreSQL ends at once and gives back its shared memory.
    Quit,
}

impl StopSignal {
    fn signal(self) -> Signal {
        match self {
            Self::Terminate => Signal::TERM,
            Self::Interrupt => Signal::INT,
            Self::Quit => Signal::QUIT,
        }
    }
}

/// A started process: its number in the registry, and its process ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handle {
    pub(crate) id: u64,
    pub(crate) pid: u32,
}

struct Process {
    child: Child,
    stop_signal: StopSignal,
    group: Option<PathBuf>,
    /// Whether it has shared memory that outlives it.
    keeps_memory: bool,
    memory: Vec<SharedMemory>,
}

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

/// Everything that one fixture started and made.
#[derive(Default)]
pub(crate) struct ProcessRegistry {
    processes: BTreeMap<u64, Process>,
    next: u64,
    root: Option<Root>,
    /// Whether orphans are adopted, so that every child of this process is one of ours.
    adopts: bool,
}

/// The folder of a fixture, and the lock that says that the fixture stands.
struct Root {
    path: PathBuf,
    _lock: File,
}

impl ProcessRegistry {
    /// A registry that adopts all descendants of the processes that it starts. Only for a process without other
    /// children.
    pub(crate) fn adopting() -> io::Result<Self> {
        platform::adopt_orphans()?;
        let mut registry = Self::default();
        registry.adopts = true;
        Ok(registry)
    }

    /// Creates the folder of the fixture inside of `parent`, and removes folders of fixtures that are gone.
    pub(crate) fn root(&mut self, parent: &Path) -> io::Result<PathBuf> {
        remove_leftovers(parent);
        // Locked before it has its name: no other fixture ever sees it unlocked.
        let unnamed = tempfile::Builder::new().prefix(".knee-fixture-").tempdir_in(parent)?;
        let lock =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(unnamed.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        // Other users can pass through to folders that are theirs, and see nothing.
        fs::set_permissions(unnamed.path(), fs::Permissions::from_mode(0o711))?;
        let hidden = unnamed.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = parent.join(hidden.trim_start_matches('.'));
        fs::rename(unnamed.path(), &path)?;
        // What it named is gone from there, so there is nothing left to remove.
        let _ = unnamed.keep();
        self.root = Some(Root { path: path.clone(), _lock: lock });
        Ok(path)
    }

    /// Starts a process as the head of a group of its own.
    pub(crate) fn launch(&mut self, launch: &Launch) -> io::Result<Handle> {
        let id = self.next;
        self.next += 1;
        let child = spawn(launch, &format!("{}{id}.", self.marker()))?;
        let pid = child.id();
        self.note(pid);
        let process = Process {
            child,
            stop_signal: launch.stop_signal,
            group: launch.group.clone(),
            keeps_memory: launch.stop_signal == StopSignal::Quit,
            memory: Vec::new(),
        };
        self.processes.insert(id, process);
        Ok(Handle { id, pid })
    }

    /// Notes a process for the cleanup after this registry is killed. Without the note it is still found by its mark.
    fn note(&self, pid: u32) {
        let Some((root, started)) = self.root.as_ref().zip(platform::started(pid.cast_signed())) else {
            return;
        };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(root.path.join(STARTED));
        let _ = file.and_then(|mut file| file.write_all(started.line().as_bytes()));
    }

    /// How a process ended, or nothing while it runs. It keeps its process ID until it is reaped.
    pub(crate) fn poll(&self, id: u64) -> io::Result<Option<Exit>> {
        let process = self.processes.get(&id).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        look(process.pid())
    }

    /// Asks a process and its group to end.
    pub(crate) fn terminate(&mut self, id: u64, stop_signal: StopSignal) {
        self.remember(id);
        if let Some(process) = self.processes.get(&id) {
            let _ = kill_process_group(process.pid(), stop_signal.signal());
        }
    }

    /// Ends a process with everything that descends from it, and forgets it.
    pub(crate) fn kill(&mut self, id: u64) {
        let marker = format!("{}{id}.", self.marker());
        if let Some(mut process) = self.processes.remove(&id) {
            kill(&mut process, &marker);
        }
        self.reap_adopted();
    }

    /// Reaps adopted orphans that have ended. Processes started here keep theirs until they are reaped separately.
    fn reap_adopted(&self) {
        if !self.adopts {
            return;
        }
        for pid in platform::ended_children() {
            if self.processes.values().all(|process| process.pid() != pid) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }

    /// Records the shared memory of a process, in case something else kills it.
    pub(crate) fn remember(&mut self, id: u64) {
        let marker = format!("{}{id}.", self.marker());
        if let Some(process) = self.processes.get_mut(&id).filter(|process| process.keeps_memory) {
            remember_memory(process, &marker);
        }
    }

    /// Ends everything and removes the folder. Nothing is left when it returns, unless the system cannot end a process.
    pub(crate) fn end(&mut self) {
        for id in self.processes.keys().copied().collect::<Vec<_>>() {
            self.remember(id);
        }
        for process in self.processes.values() {
            let _ = kill_process_group(process.pid(), process.stop_signal.signal());
        }
        let pause = Duration::from_millis(5);
        for _ in 0..(LAST_GRACE.as_millis() / pause.as_millis()) {
            if self.processes.values().all(|process| !matches!(look(process.pid()), Ok(None))) {
                break;
            }
            thread::sleep(pause);
        }
        let marker = self.marker();
        for (id, mut process) in std::mem::take(&mut self.processes).into_iter().rev() {
            kill(&mut process, &format!("{marker}{id}."));
        }
        if self.adopts {
            end_all(platform::children);
            self.reap_adopted();
        }
        if let Some(root) = self.root.take() {
            end_all(|| platform::stragglers(&root.path, &marker, &[], &[]));
            // A cgroup can have been made for a process that was never started.
            platform::remove_groups(&group_of(&root.path, ""));
            let _ = folder::remove(&root.path);
        }
    }

    /// The entry of the environment that all processes of this fixture carry, up to their number.
    fn marker(&self) -> String {
        self.root.as_ref().map(|root| marker_of(&root.path)).unwrap_or_default()
    }
}

impl Drop for ProcessRegistry {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the process from a separate thread, because a new process inherits the CPUs of the thread that started it,
/// and the threads of this program must keep theirs.
fn spawn(launch: &Launch, marker: &str) -> io::Result<Child> {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&launch.log)?;
    let mut command = match (&launch.group, launch.user) {
        // The shell moves itself, so that there is no moment at which the program runs outside of its group.
        (Some(group), None) => {
            let mut shell = Command::new("/bin/sh");
            shell
                .args(["-c", r#"echo $$ 2>/dev/null >"$0/cgroup.procs"; exec "$@""#])
                .arg(group)
                .arg(&launch.program);
            shell
        }
        _ => Command::new(&launch.program),
    };
    command.args(&launch.args).current_dir(&launch.folder).process_group(0);
    command.env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    let (name, value) = marker.split_once('=').unwrap_or((MARKER, ""));
    command.env(name, value);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    if let Some((uid, gid)) = launch.user {
        command.gid(gid).uid(uid);
    }
    let started = thread::scope(|scope| {
        let start = || {
            platform::pin_thread(&launch.cpus)?;
            command.spawn()
        };
        scope.spawn(start).join()
    });
    let child =
        started.unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes panicked")))?;
    if let (Some(group), Some(_)) = (&launch.group, launch.user) {
        // The caller that asked for the group checks whether the process is in it.
        let _ = fs::write(group.join("cgroup.procs"), child.id().to_string());
    }
    Ok(child)
}

/// How a child ended, without reaping it.
fn look(pid: Pid) -> io::Result<Option<Exit>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Some(status) = waitid(WaitId::Pid(pid), options)? else { return Ok(None) };
    let code = status.exit_status().map(Exit::Code);
    Ok(Some(code.unwrap_or_else(|| Exit::Signal(status.terminating_signal().unwrap_or_default()))))
}

fn remember_memory(process: &mut Process, marker: &str) {
    for member in platform::members(process.pid().as_raw_pid(), marker) {
        for memory in platform::shared_memory(member.as_raw_pid()) {
            if !process.memory.contains(&memory) {
                process.memory.push(memory);
            }
        }
    }
}

/// Ends a process and all that belongs to it. The process keeps its number until the rest is gone, so
/// that no other process gets that number.
fn kill(process: &mut Process, marker: &str) {
    let root = process.pid().as_raw_pid();
    end_all(|| platform::members(root, marker));
    let _ = process.child.kill();
    let _ = process.child.wait();
    for memory in &process.memory {
        memory.remove();
    }
    if let Some(group) = &process.group {
        platform::remove_group(group);
    }
}

/// Kills the processes that `who` finds until it finds none. Gives up after five seconds, because a process that hangs
/// in the kernel cannot be ended.
fn end_all(who: impl Fn() -> Vec<Pid>) {
    const PAUSE: Duration = Duration::from_millis(2);
    for _ in 0..2_500 {
        let found = who();
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(PAUSE);
    }
}

/// Ends and removes what vanished fixtures left behind, as after a power cut. A running fixture holds the lock in its
/// folder.
fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(lock) = OpenOptions::new().write(true).open(path.join(LOCK)) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove_leftover(&path, &[]);
        }
    }
}

/// Ends and removes what belongs to the folder of a fixture whose registry is gone.
pub(crate) fn remove_leftover(root: &Path, known: &[Handle]) {
    let groups: Vec<i32> = known.iter().map(|handle| handle.pid.cast_signed()).collect();
    let (marker, started) = (marker_of(root), started(root));
    end_all(|| platform::stragglers(root, &marker, &groups, &started));
    platform::remove_groups(&group_of(root, ""));
    let _ = folder::remove(root);
}

/// The processes that the fixture with this folder started since the machine was started.
fn started(root: &Path) -> Vec<Started> {
    let text = fs::read_to_string(root.join(STARTED)).unwrap_or_default();
    let boot = platform::boot();
    text.lines().filter_map(Started::read).filter(|started| started.boot == boot).collect()
}

/// The name of a cgroup of the fixture with this folder.
pub(crate) fn group_of(root: &Path, member: &str) -> String {
    format!("{}-{member}", root.file_name().unwrap_or_default().to_string_lossy())
}

/// The entry of the environment that all processes of a fixture carry, up to their number.
fn marker_of(root: &Path) -> String {
    format!("{MARKER}={}/", root.file_name().unwrap_or_default().to_string_lossy())
}
