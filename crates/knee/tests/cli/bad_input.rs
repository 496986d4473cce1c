//! Command lines with usual mistakes: each is reported exactly, before anything is sent or written.

use std::net::TcpListener;

use crate::program::{Home, word};
use crate::server::Server;

/// What is wrong, the error and the hint. $URL stands for a server that must not see a
/// request, and $TEXT for a file that is no certificate.
const BAD: &[(&str, &str, &str)] = &[
    (
        "",
        "no URL is given",
        "write `knee http://127.0.0.1:8080/`, or try `knee demo`; `knee --help` lists flags and commands",
    ),
    (
        "cloud run script.js",
        "`cloud` is a k6 command that knee does not have",
        "knee runs on this machine only and is controlled by signals (Ctrl-C)",
    ),
    ("version", "`version` is a k6 command that knee does not have", "write `knee --version`"),
    ("$URL --nonsense", "there is no flag `--nonsense`", "`knee --help-all` lists every flag"),
    ("run x.js --cacert y", "there is no flag `--cacert`", "`knee run --help-all` lists every flag"),
    ("compare --nonsense", "there is no flag `--nonsense`", "`knee compare --help-all` lists every flag"),
    (
        "explain nonsense",
        "`nonsense` is not the code of a warning, a note or a finding",
        "`knee explain` lists all codes",
    ),
    (
        "explain run_dealy",
        "`run_dealy` is not the code of a warning, a note or a finding",
        "did you mean `run_delay`? `knee explain` lists all codes",
    ),
    (
        "$URL --conections 5",
        "there is no flag `--conections`",
        "did you mean `--connections`? `knee --help-all` lists every flag",
    ),
    ("$URL -c", "`--connections` has no value", "write `--connections VALUE`"),
    ("$URL -c 0", "`-c 0` is too small", "give a whole number from 1 to 1,000,000"),
    ("$URL -c 1.5", "`-c 1.5` is not a whole number", "give a whole number from 1 to 1,000,000"),
    ("$URL -n 0", "`-n 0` is too small", "give a whole number from 1 to 1,000,000,000,000,000"),
    ("$URL -q 0", "`-q 0` sends nothing", "give a level above zero, as in `-q 100`"),
    (
        "$URL -q fast",
        "`-q fast` is not a rate",
        "give requests per second, as in `0.5`, `200` or `1.5k`; the most is 1,000,000,000",
    ),
    ("$URL -z 0", "`-z 0` is not above zero", "give a duration above zero, or leave the flag out"),
    (
        "$URL -z 10parsecs",
        "`-z 10parsecs` is not a duration",
        "write durations as `10s`, `1m30s` or `500ms`; a bare number is seconds",
    ),
    (
        "$URL -n 10 -z 10s",
        "`-n` and `-z` exclude each other",
        "give either a number of requests or a duration",
    ),
    (
        "$URL -disable-keepalive",
        "`-disable-keepalive` has one dash; long flags have two",
        "write `--disable-keepalive`",
    ),
    (
        "$URL -p 4",
        "`-p` needs `--http2`",
        "with HTTP/1.1 a connection has one request at a time: use `-c` for more connections",
    ),
    (
        "$URL --output-format yaml",
        "`yaml` is not a value of `--output-format`",
        "use one of: text, html, json, csv, oha-json, quiet",
    ),
    ("$URL -u parsecs", "`parsecs` is not a value of `--time-unit`", "use one of: ns, us, ms, s, m, h"),
    ("$URL -H nocolon", "`-H nocolon` has no colon", "write it as `-H 'name: value'`"),
    ("$URL -a user", "`-a` has no colon between user and password", "write it as `-a USER:PASS`"),
    ("$URL -d x -D y", "`-d` and `-D` exclude each other", "a request has one body; leave one of them out"),
    (
        "$URL -D /nowhere/file",
        "`/nowhere/file` cannot be read, for `-D`: no such file or directory",
        "check the path and its permissions",
    ),
    (
        "$URL --cacert $TEXT",
        "`$TEXT` has no certificate, for `--cacert`",
        "give a file in PEM form: it has a line `-----BEGIN CERTIFICATE-----`",
    ),
    ("$URL --cert $TEXT", "`--cert` needs `--key`", "give the certificate's private key with `--key`"),
    (
        "$URL --unix-socket $TEXT",
        "`$TEXT` is not a socket, for `--unix-socket`",
        "give the path that the server listens on",
    ),
    (
        "$URL --stage 10s",
        "`--stage 10s` is not a stage",
        "write stages as TIME:TARGET, as in `--stage 30s:100,1m:100`",
    ),
    (
        "$URL -o same --record same",
        "`-o` and `--record` both name `same`",
        "`-o` is for the result, `--record` for the record; give them different names",
    ),
    (
        "$URL -o /nowhere/result",
        "`/nowhere/result` cannot be written: no such file or directory",
        "check the folder, its permissions and the space left",
    ),
    (
        "$URL -o new --record $TEXT",
        "`$TEXT` exists already, for `--record`",
        "give another name, or remove it first",
    ),
    (
        "$URL -o new --record /nowhere/record",
        "`/nowhere/record` cannot be written: no such file or directory",
        "check the folder, its permissions and the space left",
    ),
    (
        "$URL --record /dev/full",
        "`/dev/full` exists already, for `--record`",
        "give another name, or remove it first",
    ),
    (
        "http://127.0.0.1:0/",
        "`http://127.0.0.1:0/` has port 0, where nothing can listen",
        "give the port that the server listens on",
    ),
    ("ftp://127.0.0.1/", "`ftp://127.0.0.1/` has the scheme `ftp`", "knee loads `http` and `https` only"),
    (
        "http://no-such-host.invalid/ --record new",
        "the name `no-such-host.invalid` does not resolve",
        "check the spelling, or use an IP address",
    ),
    // Reserved for documentation (RFC 5737): nothing is there, and nothing must be sent there.
    (
        "http://192.0.2.1/ -z 10s --record new",
        "this load is above the limit for a public host, `192.0.2.1`",
        "if you have permission, add `--allow-host 192.0.2.1`; the limit is 20 connections with `-q 50` or `-n 2000`",
    ),
    (
        "http://192.0.2.1/ -z 10s --allow-host 192.0.2.2",
        "this load is above the limit for a public host, `192.0.2.1`",
        "if you have permission, add `--allow-host 192.0.2.1`; the limit is 20 connections with `-q 50` or `-n 2000`",
    ),
    (
        "report nothing",
        "there is no saved run `nothing`",
        "give `last`, `last~1` or a file; `knee report --list` lists saved runs",
    ),
];

#[test]
fn what_is_wrong_is_reported_before_anything_is_sent_or_written() {
    let server = Server::start();
    let mut wrong = Vec::new();
    for (line, error, hint) in BAD {
        let home = Home::new();
        let text = home.file("text", "no certificate\n");
        let real = |words: &str| words.replace("$URL", &server.url("/")).replace("$TEXT", &word(&text));
        let finished = home.knee(&real(line)).run();
        let told = format!("error: {}\n\nhint: {}", real(error), real(hint));
        if (finished.code, finished.stdout.as_str(), finished.stderr.as_str()) != (Some(104), "", &told) {
            wrong.push(format!("$ knee {line}\n{told}\ninstead of {finished:#?}"));
        }
        assert_eq!(home.files(), std::slice::from_ref(&text), "knee {line}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(server.count(), 0);
}

#[test]
fn a_server_that_is_not_there_is_reported_before_any_load() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    home.knee(&format!("http://{address}/ -o result --record record"))
        .run()
        .refused(&format!("`{address}` refused the connection"), "start the server, or check the port");
    assert!(home.files().is_empty(), "{:?}", home.files());
}

#[test]
fn a_file_that_is_no_record_is_reported_as_such() {
    let home = Home::new();
    for content in ["", "not a record at all", "KNEE"] {
        let file = home.file("file", content);
        let finished = home.knee("report").arg(&file).run();
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(104), ""), "{content:?}");
        assert!(finished.stderr.contains("hint: give the file of a saved run"), "{}", finished.stderr);
    }
}

#[test]
fn the_short_help_fits_on_a_screen_and_says_where_the_other_flags_are() {
    let home = Home::new();
    let (short, all) = (home.knee("--help").run().stdout, home.knee("--help-all").run().stdout);
    assert!(short.ends_with("`knee --help-all` lists all flags.\n"), "{short}");
    let flags = |text: &str| {
        text.lines().filter(|line| line.starts_with("  -") || line.starts_with("      --")).count()
    };
    // Ten, and those for help and version.
    assert_eq!(flags(&short), 12, "{short}");
    assert!(flags(&all) > 50, "{all}");
    assert_eq!(home.knee("run --help-all").run().stdout.matches("--http-debug").count(), 1);
}

#[test]
fn help_and_version_are_results() {
    let home = Home::new();
    for line in ["--help", "-h", "--help-all", "run --help-all", "report --help", "demo --help", "--version"]
    {
        let finished = home.knee(line).run();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{line}");
        assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{}", finished.stdout);
    }
}
