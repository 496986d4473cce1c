//! What is wrong with a command line of `knee sweep` is reported before any load.

use crate::program::Home;
use crate::server::Server;

/// Fails unless each command line is refused with its error and its hint.
fn refuses(mistakes: &[(&str, &str, &str)]) {
    let home = Home::new();
    for (flags, error, hint) in mistakes {
        home.knee(flags).run().refused(error, hint);
    }
}

#[test]
fn mistakes_are_reported_with_what_to_write_instead() {
    refuses(&[
        (
            "sweep",
            "no URL, no script and no study is given",
            "write `knee sweep http://127.0.0.1:8080/`; `knee demo --serve-only` starts a server to try it on",
        ),
        (
            "sweep http://127.0.0.1:1/ --slo p99",
            "`p99` is not a limit on response time",
            "write limits as `p99<250ms`, `p99.9<1s`, `mean<20ms`, `max<2s` or `first_event p99<500ms`",
        ),
        (
            "sweep http://127.0.0.1:1/ --errors 200%",
            "`--errors 200%` is not a share",
            "give a share as `0.1%` or `0.001`, at most 100%",
        ),
        (
            "sweep http://127.0.0.1:1/ --from 100 --to 50",
            "`--to` is below `--from`",
            "the load rises during a sweep: give `--to` the higher rate",
        ),
        (
            "sweep http://127.0.0.1:1/ --factor 2",
            "`--factor` needs `--from`",
            "give the first rate with `--from`",
        ),
        (
            "sweep http://127.0.0.1:1/ --from 10 --factor 1",
            "`--factor 1` is out of range",
            "give a number from 1.01 to 100, as in `--factor 1.5`",
        ),
        (
            "sweep http://127.0.0.1:1/ --reset=",
            "`--reset` is empty",
            "give a command, as in `--reset ./reset.sh`",
        ),
    ]);
}

#[test]
fn flags_that_do_not_go_together_are_reported() {
    refuses(&[
        (
            "sweep http://127.0.0.1:1/ --host-cost 20",
            "`20` is not an amount per time, for `--host-cost`",
            "write it as `--host-cost 20/month`",
        ),
        (
            "sweep http://127.0.0.1:1/ --variant red",
            "`--variant` does not apply to this target",
            "give the folder of a study, whose service is started, as in `knee sweep labs/todos/newest`",
        ),
        (
            "sweep http://127.0.0.1:1/ -e A=B",
            "`--env` does not apply to this target",
            "leave the flag out: it is for scripts",
        ),
        (
            "sweep a.js -m POST",
            "`--method` does not apply to this target",
            "leave the flag out: the script defines its requests",
        ),
        (
            "sweep a.js --connections 5",
            "`--connections` is for a URL: a script has VUs",
            "leave it out: a sweep raises a script's arrival rate; for N VUs use `knee run -u N`",
        ),
        (
            "sweep http://127.0.0.1:1/ --rates 10 --connections 5",
            "`--rates` and `--connections` exclude each other",
            "leave one of them out",
        ),
    ]);
}

#[test]
fn a_public_host_is_not_swept_unasked() {
    let home = Home::new();
    for flags in ["", "--from 1000", "--connections 50"] {
        let finished = home.knee(&format!("sweep http://192.0.2.1/ {flags}")).run();
        assert_eq!(finished.code, Some(104), "{}", finished.stderr);
        assert!(finished.stderr.contains("limit for a public host, `192.0.2.1`"), "{}", finished.stderr);
    }
}

#[test]
fn a_ladder_of_connections_says_how_many_it_takes_in_every_form() {
    let (home, server) = (Home::new(), Server::start());
    let base = "sweep --connections 1,2,4 --step 300ms --errors 5% -q --host-cost 20/month --output-format";
    for (format, begins) in [("text", "Capacity: "), ("md", "# Sweep of `"), ("json", "{")] {
        let finished = home.knee(&format!("{base} {format}")).arg(server.url("/slow")).run();
        assert!(finished.stdout.starts_with(begins), "{format}: {}\n{}", finished.stdout, finished.stderr);
        assert!(finished.stdout.contains("connections"), "{}", finished.stdout);
        assert_eq!(finished.stderr, "", "quiet");
        assert!(!finished.stdout.contains('\u{1b}'), "no colours in a pipe");
    }
    // Each response takes a tenth of a second, and no request waits for another.
    let finished = home.knee(&format!("{base} json")).arg(server.url("/slow")).run();
    let document: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(document["capacity"]["known"], "at_least");
    assert_eq!(document["capacity"]["low"], 4.0);
}
