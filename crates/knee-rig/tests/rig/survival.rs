//! Nothing survives a rig: not when its program is killed at any step, nor when the guard or a store is.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::world::{World, filled, groups, host, processes_about, try_get};

/// Everything at once: a replica, Redis, a build, a seed, and a service that leaves its group.
const ALL: &str = r#"
[postgres.db]
settings = { shared_buffers = "16MB" }
replica = "async"

[redis.cache]

[service.main]
build = "sleep 0.05"
command = ["sh", "-c", "setsid sleep 1000 & exec HOST serve {port} {data}", "{postgres.db.url}", "{redis.cache.url}"]
seed = ["sh", "-c", "sleep 0.05; echo seed >{data}/texts"]
reset = "stores"
"#;

/// The same without databases, to be killed more often.
const SMALL: &str = r#"
[service.main]
build = "sleep 0.02"
command = ["sh", "-c", "setsid sleep 1000 & exec HOST serve {port} {data}"]
seed = ["sh", "-c", "sleep 0.02; echo seed >{data}/texts"]
reset = "copy"
cpu_share = 2.0
"#;

const STEPS: [&str; 6] = ["up", "start", "reset", "again", "down", "end"];

/// The test program with a rig of its own, which goes on when it is told to.
struct Host {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(world: &World, declaration: &str, guard: &str) -> Self {
        let file = world.study.path().join("declaration.toml");
        fs::write(&file, filled(declaration)).unwrap();
        let mut command = Command::new(host());
        command.arg("up").arg(file).arg(world.study.path()).arg(world.temporary.path()).arg(guard);
        // As a shell does it: Ctrl-C reaches a group.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output).lines() }
    }

    /// The next step that it announces, and what it is about.
    fn announced(&mut self) -> (String, String) {
        let line = self.output.next().expect("it ended").unwrap();
        assert!(!line.starts_with("error"), "{line}");
        let (step, about) = line.split_once(' ').unwrap();
        (step.to_owned(), about.to_owned())
    }

    fn go_on(&mut self, word: &str) {
        writeln!(self.input, "{word}").unwrap();
    }

    /// Goes on until it announces `step`, and returns what that is about.
    fn until(&mut self, step: &str) -> String {
        loop {
            let (announced, about) = self.announced();
            if announced == step {
                return about;
            }
            self.go_on("");
        }
    }

    fn kill(mut self, signal: Signal) -> ExitStatus {
        let pid = Pid::from_child(&self.child);
        kill_process_group(pid, signal).unwrap();
        self.child.wait().unwrap()
    }

    /// The process that is the guard.
    fn guard(&self) -> Pid {
        let children = children(self.child.id().cast_signed());
        Pid::from_raw(children[0].parse().unwrap()).unwrap()
    }
}

#[test]
fn a_program_that_is_killed_before_any_step_leaves_nothing() {
    for step in STEPS {
        let world = World::new();
        let mut host = Host::start(&world, SMALL, "guard");
        host.until(step);
        host.kill(Signal::KILL);
        world.wait_until_nothing_left();
    }
}

#[test]
fn a_program_that_is_killed_at_any_moment_of_any_step_leaves_nothing() {
    let seed = std::env::var("KNEE_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("KNEE_SEED={seed}");
    let mut random = seed;
    for step in STEPS.iter().take(5).cycle().take(25) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let world = World::new();
        let mut host = Host::start(&world, SMALL, "guard");
        host.until(step);
        host.go_on("");
        // The moment is the fault that is tried; nothing is measured by it.
        std::thread::sleep(std::time::Duration::from_micros(random >> 33 & 0xffff));
        let rigs: Vec<_> = fs::read_dir(world.temporary.path()).unwrap().flatten().collect();
        host.kill(Signal::KILL);
        world.wait_until_nothing_left();
        for rig in rigs {
            assert_eq!(groups_of(&rig.path().display().to_string()), Vec::<PathBuf>::new());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_left_a_service_does_not_keep_its_number_after_the_service_is_ended() {
    let world = World::new();
    let mut host = Host::start(&world, SMALL, "guard");
    host.until("reset");
    let guard = host.guard().as_raw_pid();
    assert!(!children(guard).is_empty(), "the service runs");
    host.go_on("");
    host.until("again");
    assert_eq!(children(guard), Vec::<String>::new());
    host.kill(Signal::KILL);
    world.wait_until_nothing_left();
}

/// The children of a process, those that have ended and were not waited for included.
fn children(pid: i32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[cfg_attr(
    not(all(feature = "postgres-tests", feature = "redis-tests")),
    ignore = "needs PostgreSQL and Redis: --features postgres-tests,redis-tests"
)]
fn databases_and_caches_of_a_killed_program_are_gone_with_their_ports_and_shared_memory() {
    for step in ["start", "reset", "again", "down"] {
        let world = World::new();
        let mut host = Host::start(&world, ALL, "guard");
        let folder = host.until("start");
        let memory = shared_memory(&world);
        assert!(!memory.is_empty() || !cfg!(target_os = "linux"));
        if step != "start" {
            host.go_on("");
            let url = host.until("reset");
            if step == "reset" {
                assert!(try_get(&url, "/get").is_ok());
            } else {
                host.go_on("");
                host.until(step);
            }
        }
        host.kill(Signal::KILL);
        world.wait_until_nothing_left();
        assert_eq!(memory.into_iter().filter(|name| exists(name)).collect::<Vec<_>>(), Vec::<String>::new());
        assert_eq!(groups_of(&folder), Vec::<PathBuf>::new());
    }
}

#[test]
#[cfg_attr(
    not(all(feature = "postgres-tests", feature = "redis-tests")),
    ignore = "needs PostgreSQL and Redis: --features postgres-tests,redis-tests"
)]
fn a_program_that_is_killed_while_a_cluster_is_made_leaves_nothing() {
    // A file or folder by which one sees how far it is.
    for sign in [
        "postgres-db",
        "postgres-db/data/PG_VERSION",
        "logs/postgres-db.log",
        "postgres-db/data-replica",
        "redis-cache",
    ] {
        let world = World::new();
        let mut host = Host::start(&world, ALL, "guard");
        host.until("up");
        host.go_on("");
        let seen = || {
            fs::read_dir(world.temporary.path()).unwrap().flatten().any(|rig| rig.path().join(sign).exists())
        };
        while !seen() {
            std::thread::yield_now();
        }
        host.kill(Signal::KILL);
        world.wait_until_nothing_left();
    }
}

#[test]
fn ctrl_c_and_a_panic_and_a_closed_terminal_leave_nothing() {
    for guard in ["guard", "none"] {
        let world = World::new();
        let mut host = Host::start(&world, SMALL, guard);
        host.until("reset");
        host.go_on("panic");
        assert_eq!(host.child.wait().unwrap().code(), Some(101));
        world.wait_until_nothing_left();
    }
    for signal in [Signal::INT, Signal::HUP, Signal::TERM, Signal::QUIT] {
        let world = World::new();
        let mut host = Host::start(&world, SMALL, "guard");
        host.until("reset");
        host.kill(signal);
        world.wait_until_nothing_left();
    }
}

#[test]
fn a_rig_whose_guard_was_killed_takes_itself_down() {
    let world = World::new();
    let mut host = Host::start(&world, SMALL, "guard");
    host.until("reset");
    kill_process(host.guard(), Signal::KILL).unwrap();
    host.go_on("");
    let line = host.output.next().unwrap().unwrap();
    assert!(line.starts_with("error: the guard that looks after started processes failed"), "{line}");
    assert_eq!(host.child.wait().unwrap().code(), Some(1));
    world.wait_until_nothing_left();
}

#[test]
fn what_was_left_when_program_and_guard_were_killed_is_removed_by_the_next_rig() {
    let world = World::new();
    let mut host = Host::start(&world, SMALL, "guard");
    let folder = host.until("start");
    host.go_on("");
    host.until("reset");
    let guard = host.guard();
    kill_process(guard, Signal::KILL).unwrap();
    host.kill(Signal::KILL);
    while rustix::process::test_kill_process(guard).is_ok() {
        std::thread::yield_now();
    }
    assert!(!processes_about(world.temporary.path()).is_empty(), "nobody was there to end it");
    let (rig, _) = world.running(crate::world::SERVICE);
    assert!(!Path::new(&folder).exists());
    assert_eq!(groups_of(&folder), Vec::<PathBuf>::new());
    let other = World { study: tempfile::tempdir().unwrap(), ..World::new() };
    rig.down().unwrap();
    world.assert_nothing_left();
    other.assert_nothing_left();
}

#[test]
fn rigs_that_stand_are_left_alone_by_other_rigs() {
    let world = World::new();
    let (first, first_url) = world.running(crate::world::SERVICE);
    let (second, second_url) = world.running(crate::world::SERVICE);
    second.down().unwrap();
    assert!(try_get(&first_url, "/get").is_ok());
    assert!(try_get(&second_url, "/get").is_err());
    first.down().unwrap();
    world.assert_nothing_left();
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_cluster_that_others_killed_leaves_no_shared_memory() {
    let world = World::new();
    let rig = world.up("[postgres.db]\n").unwrap_or_else(|error| panic!("{error}\n{}", error.hint()));
    let memory = shared_memory(&world);
    let pid = rig.stores()[0].pids[0];
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    let error = (0..2_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        rig.check().err()
    });
    assert!(
        error
            .unwrap()
            .to_string()
            .starts_with("PostgreSQL `db` ended while it was needed (signal 9, SIGKILL)")
    );
    rig.down().unwrap();
    world.assert_nothing_left();
    assert_eq!(memory.into_iter().filter(|name| exists(name)).collect::<Vec<_>>(), Vec::<String>::new());
}

/// Cgroups of the rig with this folder.
fn groups_of(folder: &str) -> Vec<PathBuf> {
    groups(Path::new(folder).file_name().unwrap().to_str().unwrap())
}

/// Shared memory that processes in the folder of rigs have mapped: files, and numbers of System V segments.
fn shared_memory(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let inside =
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(world.temporary.path()));
        let maps = if inside {
            fs::read_to_string(entry.path().join("maps")).unwrap_or_default()
        } else {
            String::new()
        };
        for line in maps.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words.get(5) {
                Some(name) if name.starts_with("/SYSV") => found.push(words[4].to_owned()),
                Some(name) if name.starts_with("/dev/shm/") => found.push((*name).to_owned()),
                _ => {}
            }
        }
    }
    found
}

fn exists(memory: &str) -> bool {
    if memory.starts_with('/') {
        return Path::new(memory).exists();
    }
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    segments.lines().any(|line| line.split_ascii_whitespace().nth(1) == Some(memory))
}
