//! What goes wrong on the way up, and how it is told.

use knee_rig::{Error, Overrides};

use crate::world::{SERVICE, World};

/// The error of starting `main`, after which nothing of it runs.
fn refused(declaration: &str) -> (Error, World) {
    let world = World::new();
    let mut rig = match world.up(declaration) {
        Ok(rig) => rig,
        Err(error) => {
            world.assert_nothing_left();
            return (error, world);
        }
    };
    let error = rig.start("main", &Overrides::default()).unwrap_err();
    assert_eq!(crate::world::processes_about(world.temporary.path()), Vec::<String>::new());
    drop(rig);
    world.assert_nothing_left();
    (error, world)
}

#[test]
fn a_service_that_dies_at_start_is_told_with_its_last_words() {
    let (error, _) = refused(&format!("{SERVICE}env = {{ DIE_AT_START = \"1\" }}\n"));
    assert!(matches!(error, Error::Died { at_start: true, .. }));
    assert_eq!(
        error.to_string(),
        "service `main` ended before it was up (exit code 3)\n  | cannot find the moon"
    );
}

#[test]
fn a_service_that_never_listens_is_told_with_what_was_asked() {
    let never = "[service.main]\ncommand = [\"sh\", \"-c\", \"echo warming up; sleep 1000\"]\nready = { path = \"/health\", within_s = 0.3 }\n";
    let (error, _) = refused(never);
    let text = error.to_string();
    assert!(text.starts_with("service `main` was not up after 0.3 s: GET http://127.0.0.1:"), "{text}");
    assert!(text.ends_with("/health: connection refused\n  | warming up"), "{text}");
    assert!(error.hint().contains("{port}"));
}

#[test]
fn a_service_that_answers_with_errors_is_not_ready() {
    let (error, _) = refused(
        &SERVICE
            .replace(
                "[\"HOST\", \"serve\", \"{port}\", \"{data}\"]",
                r#"["sh", "-c", "exec HOST serve {port} /nowhere/at/all"]"#,
            )
            .replace("ready = { path = \"/health\" }", "ready = { path = \"/put?x\", within_s = 5 }"),
    );
    // The first question makes it panic: it cannot write there.
    assert!(matches!(error, Error::Died { .. }), "{error}");
    assert!(error.to_string().contains("(exit code 101)"), "{error}");
}

#[test]
fn a_port_that_somebody_has_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (error, _) = refused(&format!("{SERVICE}port = {port}\n"));
    assert_eq!(error.to_string(), format!("port {port}, which service `main` is to listen on, is taken"));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    for program in ["no-such-program-here", "./missing", "/etc/passwd"] {
        let (error, _) = refused(&format!("[service.main]\ncommand = [\"{program}\"]\n"));
        assert!(matches!(error, Error::Unrunnable { .. }), "{error}");
        assert!(error.to_string().contains(program.trim_start_matches("./")), "{error}");
    }
}

#[test]
fn a_build_or_seed_that_fails_is_told_with_its_last_lines() {
    let (error, _) = refused(&format!("{SERVICE}build = \"echo one; echo no such crate >&2; exit 4\"\n"));
    assert_eq!(error.to_string(), "the build of `main` failed (exit code 4)\n  | one\n  | no such crate");
    let (error, _) = refused(&format!("{SERVICE}seed = [\"sh\", \"-c\", \"kill -9 $$\"]\n"));
    assert_eq!(error.to_string(), "the seed of `main` failed (signal 9, SIGKILL); it said nothing");
}

#[test]
fn a_place_that_does_not_exist_is_told_before_anything_is_built() {
    let (error, world) =
        refused(&format!("{SERVICE}build = \"touch built\"\nenv = {{ A = \"{{postgres.db.url}}\" }}\n"));
    assert!(
        error
            .to_string()
            .starts_with("`service.main.env.A` refers to `{postgres.db.url}`, which does not exist")
    );
    assert!(!world.study.path().join("built").exists());
}

#[test]
fn a_study_or_a_folder_for_rigs_that_is_not_there_is_named() {
    let world = World::new();
    let mut options = world.options();
    options.study = "/nowhere/study".into();
    let declaration = toml::from_str(&crate::world::filled(SERVICE)).unwrap();
    let error = knee_rig::Rig::up(&declaration, &options).err().unwrap();
    assert_eq!(error.to_string(), "cannot read `/nowhere/study`: no such file or directory");
    let mut options = world.options();
    options.temporary = Some("/nowhere/rigs".into());
    let error = knee_rig::Rig::up(&declaration, &options).err().unwrap();
    assert!(
        error.to_string().starts_with("cannot create a folder in `/nowhere/rigs`: no such file"),
        "{error}"
    );
}

#[test]
fn a_service_that_dies_while_it_is_needed_is_found_dead() {
    let world = World::new();
    let mut rig = world.up(SERVICE).unwrap();
    let pid = rig.start("main", &Overrides::default()).unwrap().pid.unwrap();
    rig.check().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let error = (0..2_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        rig.check().err()
    });
    let error = error.unwrap().to_string();
    assert!(
        error.starts_with("service `main` ended while it was needed (signal 9, SIGKILL)\n  | listening on"),
        "{error}"
    );
    rig.start("main", &Overrides::default()).unwrap();
    rig.check().unwrap();
}

#[test]
fn whoever_waits_stops_when_the_user_wants_to() {
    let world = World::new();
    let options = world.options();
    let interrupt = options.interrupt.clone();
    let declaration = "[service.main]\nbuild = \"echo $$ >started; sleep 1000\"\ncommand = [\"x\"]\n";
    let mut rig = knee_rig::Rig::up(&toml::from_str(declaration).unwrap(), &options).unwrap();
    let started = world.study.path().join("started");
    std::thread::spawn(move || {
        while !started.exists() {
            std::thread::yield_now();
        }
        interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let error = rig.start("main", &Overrides::default()).unwrap_err();
    assert_eq!(error.to_string(), "stopped on request (the build of `main`)");
    drop(rig);
    world.assert_nothing_left();
}

/// What the test program says when its rigs stand on a file system of `size`, in a world of mounts of its own.
#[cfg(target_os = "linux")]
fn on_a_disk_of(size: &str, declaration: &str) -> String {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let world = World::new();
    let file = world.study.path().join("declaration.toml");
    std::fs::write(&file, crate::world::filled(declaration)).unwrap();
    let script = format!("mount -t tmpfs -o mode=711,size={size} none \"$5\" && exec \"$@\" guard");
    let mut command = Command::new("unshare");
    let unprivileged = !rustix::process::geteuid().is_root();
    command.args(unprivileged.then_some("--map-root-user")).args(["--mount", "sh", "-c", &script, "sh"]);
    command.arg(crate::world::host()).arg("up").arg(file).arg(world.study.path()).arg(world.temporary.path());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\n\n\n\n\n\n").unwrap();
    let output = child.wait_with_output().unwrap();
    world.wait_until_nothing_left();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !said.contains("unshare") && !said.contains("mount"),
        "{said}; without the feature mount-tests this test is left out"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(feature = "mount-tests"), ignore = "needs mounts of its own: --features mount-tests")]
fn a_full_disk_is_told_as_that() {
    let full = "error: no space left for ";
    let seed = format!("{SERVICE}seed = [\"sh\", \"-c\", \"head -c 2M /dev/zero >{{data}}/x\"]\n");
    assert!(on_a_disk_of("1m", &seed).contains(&format!("{full}the seed of `main`")));
    let copy = format!(
        "{SERVICE}seed = [\"sh\", \"-c\", \"head -c 600K /dev/zero >{{data}}/x\"]\nreset = \"copy\"\n"
    );
    assert!(on_a_disk_of("1m", &copy).contains(&format!("{full}a copy of `")));
    // In a world of mounts of a user's own there is nobody that the root of that world can step down to.
    if rustix::process::geteuid().is_root() && cfg!(feature = "postgres-tests") {
        assert!(
            on_a_disk_of("10m", "[postgres.db]\n").contains(&format!("{full}initdb for PostgreSQL `db`"))
        );
    }
}
