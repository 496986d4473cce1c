//! Where the modules of a script come from, as its user sees it.

use std::path::PathBuf;

use crate::program::{Finished, Home};
use crate::server::{Server, identity};

/// Runs a script once, with the roots of the authority of [`identity`].
fn run(home: &Home, line: &str) -> Finished {
    home.knee(&format!("run --quiet -i 1 {line}")).env("SSL_CERT_FILE", home.path("ca.pem")).run()
}

/// A home with a script that imports `path` of a server.
fn importing(path: &str) -> (Home, Server) {
    let (authority, config) = identity();
    let (home, server) = (Home::new(), Server::start_tls(config));
    home.file("ca.pem", authority);
    let url = format!("https://{}{path}", server.address());
    home.file("s.js", format!("import text from '{url}';\nconsole.log(text);\nexport default () => {{}};\n"));
    (home, server)
}

/// The file with the hashes of modules, which a note names.
fn lock_of(finished: &Finished) -> PathBuf {
    let rest = finished
        .stderr
        .split_once("hashes of remote modules: ")
        .unwrap_or_else(|| panic!("{}", finished.stderr))
        .1;
    rest.split_once(';').unwrap().0.into()
}

#[test]
fn a_module_is_fetched_once_held_to_its_hash_and_then_needs_no_network() {
    let (home, server) = importing("/module.js");
    let first = run(&home, "s.js");
    for flag in ["", "--offline"] {
        let finished = run(&home, &format!("{flag} s.js"));
        assert!(finished.stderr.contains("a text from the network"), "{flag}: {}", finished.stderr);
    }
    assert_eq!(server.count(), 1);
    assert!(!home.path("knee.lock").exists(), "nothing is written beside the script");
    std::fs::copy(lock_of(&first), home.path("knee.lock")).unwrap();
    let lock = std::fs::read_to_string(home.path("knee.lock")).unwrap();
    let line = lock.lines().find(|line| line.starts_with("https://127.0.0.1:")).unwrap();
    let (url, hash) = line.split_once(" sha256:").unwrap();
    std::fs::write(home.path("knee.lock"), format!("{url} sha256:{}\n", "0".repeat(hash.len()))).unwrap();
    let finished = run(&home, "s.js");
    assert_eq!(finished.code, Some(107), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("has changed") && finished.stderr.contains("hint:"),
        "{}",
        finished.stderr
    );
    let finished = run(&home, "--reload s.js");
    assert!(finished.stderr.contains("a text from the network"), "{}", finished.stderr);
    assert!(std::fs::read_to_string(home.path("knee.lock")).unwrap().contains(hash));
}

#[test]
fn a_whole_script_comes_from_the_network_and_imports_its_neighbours() {
    let (home, server) = importing("");
    let finished = run(&home, &format!("https://{}/script.js", server.address()));
    assert!(finished.stderr.contains("a text from the network"), "{}", finished.stderr);
    assert_eq!(server.count(), 2);
    let lock = std::fs::read_to_string(lock_of(&finished)).unwrap();
    assert_eq!(lock.matches("sha256:").count(), 2, "{lock}");
    assert!(!home.path("knee.lock").exists());
}

#[test]
fn a_module_is_asked_for_as_by_k6_and_without_its_mark_where_a_server_does_not_know_it() {
    let (home, server) = importing("/strict.js");
    let finished = run(&home, "s.js");
    assert!(finished.stderr.contains("a text from the network"), "{}", finished.stderr);
    let paths: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/strict.js?_k6=1", "/strict.js"]);
}

#[test]
fn a_module_that_cannot_be_had_is_reported_with_a_hint() {
    for (path, says) in [("/sorry", "503"), ("/away.js", "cannot be fetched")] {
        let (home, _server) = importing(path);
        let finished = run(&home, "s.js");
        assert_eq!(finished.code, Some(107), "{}", finished.stderr);
        assert!(finished.stderr.contains(says), "{path}: {}", finished.stderr);
        assert!(finished.stderr.contains("hint: save the module"), "{path}: {}", finished.stderr);
        assert!(!home.path("knee.lock").exists());
    }
    let (home, server) = importing("/module.js");
    let finished = run(&home, "--offline s.js");
    assert!(finished.stderr.contains("--offline forbids fetching it"), "{}", finished.stderr);
    assert_eq!(server.count(), 0);
}

#[test]
fn a_well_known_library_needs_no_network_and_says_so() {
    let home = Home::new();
    let library = "https://jslib.k6.io/k6-utils/1.2.0/index.js";
    home.file(
        "s.js",
        format!(
            "import {{ randomString }} from '{library}';\nconsole.log(randomString(3, 'x'));\nexport default () => {{}};\n"
        ),
    );
    let finished = run(&home, "--offline s.js");
    assert!(finished.stderr.contains("xxx"), "{}", finished.stderr);
    assert!(finished.stderr.contains("note: jslib k6-utils: using knee's own copy"), "{}", finished.stderr);
    assert!(!home.path("knee.lock").exists());
    let finished = run(&home, "--offline --no-replacements s.js");
    assert!(finished.stderr.contains("is not in the cache"), "{}", finished.stderr);
}

#[test]
fn a_script_comes_from_standard_input_and_imports_from_the_working_folder() {
    let home = Home::new();
    home.file("lib.ts", "export enum Word { Here = 'from a file' }\n");
    let script = "import { Word } from './lib.ts'; console.log('read', Word.Here); export default () => {};";
    let finished = home.shell(&format!("echo \"{script}\" | $KNEE run --quiet -i 1 -")).run();
    assert!(finished.stderr.contains("read from a file"), "{}", finished.stderr);
}

#[test]
fn a_script_can_be_a_pipe_and_must_end() {
    let home = Home::new();
    let script = "console.log('through a pipe'); export default () => {};";
    let finished =
        home.shell(&format!("mkfifo p.js; (echo \"{script}\" > p.js) & $KNEE run --quiet -i 1 p.js")).run();
    assert!(finished.stderr.contains("through a pipe"), "{}", finished.stderr);
    let finished = home.shell("$KNEE run --quiet -i 1 - < /dev/zero").run();
    assert_eq!(finished.code, Some(104), "{}", finished.stderr);
    assert!(finished.stderr.contains("larger than 64 MiB"), "{}", finished.stderr);
}
