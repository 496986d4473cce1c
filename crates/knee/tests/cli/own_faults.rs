//! Faults of this machine: full disks, closed pipes, no home. The run goes on and nothing is lost
//! that need not be.

use std::fs::{File, OpenOptions};

use rustix::pipe::pipe;

use crate::program::{Home, number, record};
use crate::server::Server;

#[test]
fn a_disk_that_fills_up_costs_the_record_and_not_the_run() {
    let (home, server) = (Home::new(), Server::start());
    // Room for the head and for far less than three intervals; a write beyond the limit gets an error
    // instead of a signal.
    let script =
        "trap '' XFSZ; ulimit -f 4; exec \"$KNEE\" -q 100 -z 3s -c 4 -H 'x: 1' --record full.knee \"$0\"";
    let finished = home.shell(script).arg(server.url("/")).run();
    assert!(finished.stderr.contains("warning: the record is incomplete: "), "{}", finished.stderr);
    assert!(finished.stdout.contains("300 planned = 300 ok"), "{}", finished.stdout);
    assert_eq!(server.count(), 300);
    let error = "error: the record `full.knee` is incomplete: file too large";
    assert!(finished.stderr.contains(error), "{}", finished.stderr);
    assert_eq!(finished.code, Some(1));
    let told = home.knee("report full.knee").run();
    assert!(told.stderr.contains("the record ends here, the run did not: file too large"), "{}", told.stderr);
    assert!(
        told.stdout.contains("the record ends before the run did: file too large [truncated]"),
        "{}",
        told.stdout
    );
    assert!(!told.stdout.contains("killed"), "{}", told.stdout);
    let run = home.report("full.knee");
    assert_eq!(run["ending"], "truncated");
    assert!(number(&run, "/requests/planned") < 300, "the disk was not full");
}

#[test]
fn a_disk_that_is_full_from_the_start_leaves_no_half_written_record() {
    let (home, server) = (Home::new(), Server::start());
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$KNEE\" -n 20 -c 2 \"$0\"";
    let finished = home.shell(script).arg(server.url("/")).run();
    assert!(finished.stderr.contains("warning: this run is not saved: "), "{}", finished.stderr);
    assert!(finished.stdout.contains("20 planned = 20 ok"), "{}", finished.stdout);
    assert!(home.files().is_empty(), "{:?}", home.files());
}

#[test]
fn a_disk_that_fills_up_costs_the_record_of_a_script_and_not_its_run() {
    let (home, server) = (Home::new(), Server::start());
    let script = home.file(
        "script.js",
        "import http from 'k6/http';
         export const options = { scenarios: { all: { executor: 'constant-arrival-rate', rate: 100,
             duration: '3s', preAllocatedVUs: 4 } } };
         export default function () { http.get(__ENV.URL); }",
    );
    for (blocks, error, files) in [
        (4, "error: the record `full.knee` is incomplete: file too large", 2),
        (0, "warning: this run is not saved: `full.knee`: file too large", 1),
    ] {
        let line = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$KNEE\" run --record full.knee -e URL=\"$1\" \"$0\""
        );
        let finished = home.shell(&line).arg(&script).arg(server.url("/")).run();
        assert!(finished.stderr.contains(error), "{}", finished.stderr);
        assert_eq!(finished.code, Some(i32::from(blocks > 0)), "{}", finished.stderr);
        assert!(finished.stdout.contains("http_reqs"), "{}", finished.stdout);
        assert_eq!(home.files().len(), files);
        let _ = std::fs::remove_file(home.path("full.knee"));
    }
}

#[test]
fn a_changed_record_is_called_damaged_with_the_place_and_never_killed() {
    let (home, server) = (Home::new(), Server::start());
    let finished = home.knee("-q 100 -z 3s -c 4 --record whole.knee").arg(server.url("/")).run();
    assert!(finished.stdout.contains("300 planned = 300 ok"), "{}", finished.stdout);
    let whole = std::fs::read(home.path("whole.knee")).unwrap();
    let starts = frames(&whole);
    let (second, tail) = (starts[2], *starts.last().unwrap());
    let mut flipped = whole.clone();
    flipped[second + 40] ^= 4;
    let mut longer = whole.clone();
    longer[second + 2] ^= 0x10;
    let mut appended = whole.clone();
    appended.extend(b"more");
    let mut headless = whole.clone();
    headless[tail + 40] ^= 4;
    for (bytes, place, missing) in [
        (flipped, second, true),
        (longer, second, true),
        (appended, whole.len(), false),
        (headless, tail, false),
    ] {
        home.file("changed.knee", bytes);
        let told = home.knee("report changed.knee").run();
        assert!(told.stdout.contains(&format!("the record is damaged at byte {place}")), "{}", told.stdout);
        assert!(!told.stdout.contains("killed"), "{}", told.stdout);
        assert_eq!(told.stdout.contains("an interval of the record is missing"), missing, "{}", told.stdout);
        let run = home.report("changed.knee");
        let codes: Vec<_> = run["warnings"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
        assert!(codes.contains(&&"damaged".into()), "{codes:?}");
        assert!(number(&run, "/requests/planned") >= 190, "the other intervals are there");
    }
}

/// Where the frames of a record begin.
fn frames(record: &[u8]) -> Vec<usize> {
    let mut starts = vec![12];
    loop {
        let start = starts[starts.len() - 1];
        let length = u32::from_le_bytes(*record[start..].first_chunk().unwrap());
        let next = start + 8 + length as usize;
        if next == record.len() {
            return starts;
        }
        starts.push(next);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error_and_the_record_is_whole() {
    let (home, server) = (Home::new(), Server::start());
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let finished = home.knee("-n 20 -c 2").arg(server.url("/")).stdout(full()).run();
    assert_eq!(finished.code, Some(1));
    let told = "error: stdout cannot be written: no space left on device";
    assert!(finished.stderr.ends_with(told), "{}", finished.stderr);
    let kept = format!("record: {}\n", record(&home).display());
    assert!(finished.stderr.contains(&kept), "{}", finished.stderr);
    let run = home.report("last");
    assert_eq!((run["ending"].as_str(), number(&run, "/requests/ok")), (Some("completed"), 20));

    let report = home.knee("report last").stdout(full()).run();
    assert_eq!(report.stderr, told);
    let finished = home.knee("-n 20 -c 2 -o /dev/full").arg(server.url("/")).run();
    assert_eq!(finished.code, Some(1));
    let told = "error: `/dev/full` cannot be written: no space left on device";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (home, server) = (Home::new(), Server::start());
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let finished = home.knee("-n 20 -c 2").arg(server.url("/")).stdout(File::from(writer)).run();
    assert!(!finished.stderr.contains("error:"), "{}", finished.stderr);
    finished.ended_as_it_says(&home);

    let finished = home.shell("\"$KNEE\" report last | head -c 10").run();
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("knee 0.1.0", ""));
    // Standard error has no reader either.
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let finished = home.knee("-n 20 -c 2").arg(server.url("/")).stderr(File::from(writer)).run();
    assert!(finished.stdout.contains("20 planned = 20 ok"), "{}", finished.stdout);
    finished.ended_as_it_says(&home);
}

#[test]
fn a_full_stderr_without_a_reader_does_not_hold_a_run_up() {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let (home, server) = (Home::new(), Server::start());
    let (_unread, full) = pipe().unwrap();
    let flags = fcntl_getfl(&full).unwrap();
    fcntl_setfl(&full, flags | OFlags::NONBLOCK).unwrap();
    while rustix::io::write(&full, &[b'x'; 512]).is_ok() {}
    fcntl_setfl(&full, flags).unwrap();
    let finished = home.knee("-n 20 -c 2").arg(server.url("/")).stderr(File::from(full)).run();
    assert!(finished.stdout.contains("20 planned = 20 ok"), "{}", finished.stdout);
    finished.ended_as_it_says(&home);
}

#[test]
fn a_stderr_that_is_not_read_does_not_hold_up_the_users_of_a_script() {
    let (home, server) = (Home::new(), Server::start());
    let script = "import http from 'k6/http';
        export const options = { vus: 2, iterations: 400 };
        export default function () { http.get(__ENV.URL); console.log('x'.repeat(1000)); }";
    home.file("loud.js", script);
    let (unread, writer) = pipe().unwrap();
    let finished =
        home.knee("run loud.js -e").arg(format!("URL={}", server.url("/"))).stderr(File::from(writer)).run();
    drop(unread);
    assert_eq!(server.count(), 400, "{}", finished.stdout);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
}

#[test]
fn without_a_place_to_keep_it_a_run_goes_on() {
    let (home, server) = (Home::new(), Server::start());
    // A folder below a file cannot be made, with any permissions.
    let file = home.file("file", "");
    for (name, value) in [("KNEE_HOME", file.join("home")), ("KNEE_HOME", "/proc/none".into())] {
        let finished = home.knee("-n 20 -c 2").arg(server.url("/")).env(name, &value).run();
        assert!(finished.stderr.contains("warning: this run is not saved: "), "{}", finished.stderr);
        assert!(!finished.stderr.contains("record: "), "{}", finished.stderr);
        assert!(finished.stdout.contains("20 planned = 20 ok"), "{}", finished.stdout);
    }
}

#[test]
fn a_record_that_was_named_and_cannot_be_kept_is_refused_and_not_shrugged_off() {
    let (home, server) = (Home::new(), Server::start());
    let old = home.file("old.knee", "measured last year");
    let finished = home.knee("-n 20 --record old.knee").arg(server.url("/")).run();
    finished.refused("`old.knee` exists already, for `--record`", "give another name, or remove it first");
    assert_eq!(std::fs::read_to_string(old).unwrap(), "measured last year");
    assert_eq!(server.count(), 0);
}
