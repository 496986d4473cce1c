//! What every test starts from: a study's folder, a folder for rigs, and a look at what is left there.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use knee_rig::{Error, Options, Overrides, Rig};
use tempfile::TempDir;

/// A study's folder and the folder in which its rigs stand.
pub struct World {
    pub study: TempDir,
    pub temporary: TempDir,
}

/// A service of the test program, with a place for more lines of its table.
pub const SERVICE: &str = r#"
[service.main]
command = ["HOST", "serve", "{port}", "{data}"]
ready = { path = "/health" }
"#;

impl World {
    pub fn new() -> Self {
        let open = |folder: TempDir| {
            // PostgreSQL has to pass through when the tests are run by root.
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
            folder
        };
        // Memory, where there is a file system in it: databases wait for their disk, and tests need not.
        let memory = Path::new("/dev/shm");
        let rigs = if memory.is_dir() { TempDir::new_in(memory) } else { tempfile::tempdir() };
        Self { study: open(tempfile::tempdir().unwrap()), temporary: open(rigs.unwrap()) }
    }

    pub fn options(&self) -> Options {
        let mut options = Options::new(self.study.path());
        options.temporary = Some(self.temporary.path().to_owned());
        options
    }

    /// Brings up a declaration as a `study.toml` has it; `HOST` is the test program.
    pub fn up(&self, declaration: &str) -> Result<Rig, Error> {
        Rig::up(&toml::from_str(&filled(declaration)).unwrap(), &self.options())
    }

    /// A rig with its service `main` running, and the address of that.
    pub fn running(&self, declaration: &str) -> (Rig, String) {
        let mut rig = self.up(declaration).unwrap_or_else(|error| panic!("{error}\n{}", error.hint()));
        let url = rig.start("main", &Overrides::default()).unwrap().url;
        (rig, url)
    }

    /// Fails if a process or a file of a rig is left.
    pub fn assert_nothing_left(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
    }

    /// Processes that have to do with the folder of rigs, and what is in it.
    pub fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = fs::read_dir(self.temporary.path())
            .unwrap()
            .map(|entry| entry.unwrap().path().display().to_string())
            .collect();
        left.extend(processes_about(self.temporary.path()));
        left
    }

    /// Looks until nothing is left: what somebody else takes down takes a while.
    pub fn wait_until_nothing_left(&self) {
        for _ in 0..2_000 {
            if self.left().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self.assert_nothing_left();
    }
}

/// Cgroups whose name begins with `prefix`; none where there are no cgroups.
pub fn groups(prefix: &str) -> Vec<PathBuf> {
    fn below(folder: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path());
            }
            below(&entry.path(), prefix, found);
        }
    }
    let mut found = Vec::new();
    below(Path::new("/sys/fs/cgroup"), prefix, &mut found);
    found
}

/// Living processes whose arguments, environment or working folder name `folder`.
pub fn processes_about(folder: &Path) -> Vec<String> {
    let text = folder.display().to_string();
    let names = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&text);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let own = entry.file_name().to_str() == Some(&std::process::id().to_string());
        let read = |name: &str| fs::read(path.join(name)).unwrap_or_default();
        let inside = fs::read_link(path.join("cwd")).is_ok_and(|place| place.starts_with(folder));
        let arguments = read("cmdline");
        // The program that has the rig is named in no more than its own arguments.
        let host = names(&arguments) && String::from_utf8_lossy(&arguments).contains("\0up\0");
        if !own && !host && (inside || names(&arguments) || names(&read("environ"))) {
            found.push(String::from_utf8_lossy(&arguments).replace('\0', " "));
        }
    }
    found
}

/// `declaration` with the test program's path.
pub fn filled(declaration: &str) -> String {
    declaration.replace("HOST", &host().display().to_string())
}

/// The program `examples/rig_host.rs`, which cargo builds with the tests of a crate.
pub fn host() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let host = test.parent().and_then(Path::parent).unwrap().join("examples/rig_host");
    assert!(host.is_file(), "build it first: cargo build -p knee-rig --examples");
    host
}

/// What a service answers to a GET, without the head.
pub fn get(url: &str, path: &str) -> String {
    try_get(url, path).unwrap()
}

pub fn try_get(url: &str, path: &str) -> std::io::Result<String> {
    let authority = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(authority)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}
