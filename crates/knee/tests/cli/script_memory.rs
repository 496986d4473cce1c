//! Scripts that hold more memory than their virtual users have. The process must not take it either.
//!
//! Every run here has a limit on its data: the memory of a virtual user, half as much again for copies on the way to
//! it, and what a run takes anyway. A process that asks for more dies.

use crate::program::Home;
use crate::server::Server;

/// The limit of a process whose script takes all that it can get, in MiB. A virtual user has 512 MiB.
const FULL: u64 = 1_100;
/// The limit of a process whose script takes 400 MiB in all, and keeps nothing of it.
const PASSING: u64 = 300;
/// The same for 60 MiB in all: the form of a URL takes the unoptimized program long.
const SLOW: u64 = 90;

#[test]
fn no_script_makes_the_process_take_more_than_the_memory_of_its_virtual_user() {
    let server = Server::start();
    let base = server.url("/");
    let rows = [
        ("random bytes", FULL, "const a = []; for (;;) a.push(crypto.randomBytes(16 << 20));"),
        (
            "bodies of requests",
            FULL,
            "const a = []; for (;;) a.push(http.post(BASE, v + a.length, { responseType: 'none' }));",
        ),
        (
            "one text as many headers",
            FULL,
            "const headers = {}; for (let i = 0; i < 3000; i++) headers['a' + i] = v; http.get(BASE, { headers });",
        ),
        ("one text many times in a form", FULL, "http.post(BASE, { a: new Array(3000).fill(v) });"),
        (
            "requests that no code waits for",
            FULL,
            "for (;;) http.asyncRequest('GET', 'http://127.0.0.1:1/');",
        ),
        ("timers", FULL, "const f = () => {}; for (;;) setTimeout(f, 1e9);"),
        ("cookies", FULL, "for (let i = 0; ; i++) http.cookieJar().set(BASE, 'a' + i, v);"),
        // Each write copies all tags, so few and large ones: with a megabyte each, the row would take a minute.
        ("tags", FULL, "const w = v.repeat(16); for (let i = 0; ; i++) exec.vu.tags['a' + i] = w;"),
        // These end by themselves: nothing that the script can still reach is kept.
        ("names of checks", PASSING, "for (let i = 0; i < 400; i++) check(1, { [v + i]: true });"),
        ("names of groups", PASSING, "for (let i = 0; i < 400; i++) group(v + i, () => {});"),
        ("long URLs", SLOW, "for (let i = 0; i < 60; i++) http.get('http://127.0.0.1:1/' + v + i);"),
        (
            "long names",
            PASSING,
            "for (let i = 0; i < 400; i++) http.get('http://127.0.0.1:1/', { tags: { name: v + i } });",
        ),
        ("long lines", PASSING, "for (let i = 0; i < 100; i++) console.log(v, v, v, v);"),
    ];
    for (name, mebibytes, harm) in rows {
        let script = format!(
            "import http from 'k6/http'; import crypto from 'k6/crypto'; import exec from 'k6/execution';
             import {{ check, group }} from 'k6';
             export const options = {{ scenarios: {{
               bad: {{ executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: 'bad' }},
               good: {{ executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: 'good', startTime: '1s' }},
             }} }};
             const v = 'x'.repeat(1 << 20); const BASE = '{base}';
             export function bad() {{ {harm} }}
             export function good() {{ console.log('the other virtual user'); }}"
        );
        let home = Home::new();
        home.file("script.js", script);
        // Addresses that the allocator reserves for later are no memory that the process takes.
        let run = format!(
            "export MIMALLOC_ARENA_EAGER_COMMIT=0; ulimit -d {}; exec \"$KNEE\" run -q --log-output none --console-output said.txt script.js",
            mebibytes << 10
        );
        let finished = home.shell(&run).run();
        let said = std::fs::read_to_string(home.path("said.txt")).unwrap_or_default();
        let shown: String = finished.stderr.chars().take(2_000).collect();
        assert_eq!(finished.code, Some(0), "{name}: {shown}");
        assert!(said.contains("the other virtual user"), "{name}: {shown}");
    }
}
