//! Records, logs and results can be confidential: only their owner can read them.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use crate::program::Home;
use crate::server::Server;

/// Every file of a home that others can read, with its permissions.
fn shared(home: &Home) -> BTreeMap<String, u32> {
    let mode = |path: &std::path::PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    let files = home.files().into_iter().map(|path| (path.display().to_string(), mode(&path)));
    files.filter(|(_, mode)| *mode != 0o600).collect()
}

#[test]
fn only_its_owner_can_read_what_a_load_leaves() {
    let (home, server) = (Home::new(), Server::start());
    let line = "umask 022; exec \"$KNEE\" -n 20 -c 2 \"$0\" -o result.json --output-format json";
    home.shell(line).arg(server.url("/")).run();
    for line in ["report -o text", "report -o rows --format csv", "report -o locust --format locust-csv"] {
        assert_eq!(home.knee(line).run().code, Some(0), "{line}");
    }
    assert_eq!((shared(&home), home.files().len()), (BTreeMap::new(), 8));
}

#[test]
fn only_its_owner_can_read_what_a_script_leaves() {
    let (home, server) = (Home::new(), Server::start());
    let script = "import http from 'k6/http';
        export const options = { iterations: 3 };
        export default function () { console.log('said'); http.get(__ENV.URL); }
        export function handleSummary() { return { 'handled.txt': 'text' }; }";
    // Below a folder of its own, which a test can leave readable.
    let script = home.file("script.js", script);
    let line = "umask 022; exec \"$KNEE\" run \"$0\" -e URL=\"$1\" --record run.knee --summary-export export.json \
        --out json=samples.json --out csv=samples.csv --log-output file=log.txt --console-output console.txt";
    let finished = home.shell(line).arg(&script).arg(server.url("/")).run();
    std::fs::remove_file(script).unwrap();
    let names =
        ["run.knee", "export.json", "samples.json", "samples.csv", "log.txt", "console.txt", "handled.txt"];
    let missing: Vec<_> = names.into_iter().filter(|name| !home.path(name).exists()).collect();
    assert_eq!(missing, [""; 0], "{}", finished.stderr);
    assert_eq!((shared(&home), home.files().len()), (BTreeMap::new(), names.len()));
}

#[test]
fn only_its_owner_can_read_what_a_comparison_leaves() {
    let (home, server) = (Home::new(), Server::start());
    let line = "umask 022; exec \"$KNEE\" compare \"$0\" \"$0\" --blocks 2 -z 200ms -c 2 -o result.md --output-format md";
    let finished = home.shell(line).arg(server.url("/")).run();
    assert!(home.path("result.md").exists(), "{}", finished.stderr);
    assert_eq!(shared(&home), BTreeMap::new());
    assert!(home.files().len() > 4, "four trials and a result");
}
