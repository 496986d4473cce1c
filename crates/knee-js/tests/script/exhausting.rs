//! Scripts that take all the memory they can get, in QuickJS or outside of it: each exceeds the limit of its VU, gets an
//! error, and goes on. How much the process takes meanwhile, the tests of the program show.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use knee_js::program::Limits;
use knee_k6::http::decode::Coding;

use super::harmless::{Row, assert_harmless, row};
use super::harness::run_text;

const LIMIT: usize = 64 << 20;

/// `v` is a text of a MiB.
const BEFORE: &str = "const v = 'x'.repeat(1 << 20); const f = () => {};";

const fn exhausting(name: &'static str, harm: &'static str) -> Row {
    row(name, BEFORE, harm, "out of memory")
}

const ROWS: &[Row] = &[
    exhausting("objects", "const a = []; for (;;) a.push({});"),
    exhausting("a text that doubles", "let s = v; for (;;) s = [s, s].join('');"),
    exhausting("random bytes", "const a = []; for (;;) a.push(crypto.randomBytes(1 << 20));"),
    exhausting("bytes of digests", "const a = []; for (;;) a.push(crypto.sha512('x', 'binary'));"),
    exhausting("digests that are fed", "const a = []; for (;;) a.push(crypto.createHash('sha512'));"),
    exhausting(
        "views and copies of bytes",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20).slice());",
    ),
    exhausting("encoded texts", "const a = []; for (;;) a.push(encoding.b64decode(encoding.b64encode(v)));"),
    exhausting("responses that are kept", "const a = []; for (;;) a.push(http.post(BASE + '/', v));"),
    exhausting(
        "responses without bodies that are kept",
        "const a = []; for (;;) a.push(http.post(BASE + '/', v, { responseType: 'none' }));",
    ),
    exhausting(
        "responses to nowhere that are kept",
        "const a = []; const body = v + v + v + v; for (;;) a.push(http.post('http://127.0.0.1:1/', body));",
    ),
    exhausting(
        "requests that no code waits for",
        "for (;;) http.asyncRequest('POST', 'http://127.0.0.1:1/', 'x');",
    ),
    exhausting("a batch of millions", "http.batch(new Array(4e6).fill(BASE + '/'));"),
    exhausting("a form of one text many times", "http.post(BASE + '/', { a: new Array(1000).fill(v) });"),
    exhausting(
        "a form of one file many times",
        "const file = http.file(v); const form = {}; for (let i = 0; i < 1000; i++) form['a' + i] = file; http.post(BASE + '/', form);",
    ),
    exhausting(
        "many headers of one text",
        "const headers = {}; for (let i = 0; i < 1000; i++) headers['a' + i] = v; http.get(BASE + '/', { headers });",
    ),
    exhausting(
        "many cookies of one text",
        "const cookies = {}; for (let i = 0; i < 1000; i++) cookies['a' + i] = v; http.get(BASE + '/', { cookies });",
    ),
    exhausting(
        "many tags of one text",
        "const tags = {}; for (let i = 0; i < 1000; i++) tags['a' + i] = v; http.get(BASE + '/', { tags });",
    ),
    exhausting(
        "many tags of a check",
        "const tags = {}; for (let i = 0; i < 1000; i++) tags['a' + i] = v; check(1, { a: true }, tags);",
    ),
    exhausting(
        "a URL of one text many times",
        "http.url(new Array(1001).fill(''), ...new Array(1000).fill(v));",
    ),
    exhausting("cookies of the jar", "for (let i = 0; ; i++) http.cookieJar().set(BASE, 'a' + i, v);"),
    exhausting(
        "cookies of jars of its own",
        "const a = []; for (;;) { const jar = new http.CookieJar(); jar.set(BASE, 'a', v); a.push(jar); }",
    ),
    exhausting("tags of the VU", "for (let i = 0; ; i++) exec.vu.tags['a' + i] = v;"),
    exhausting("metadata of the VU", "for (let i = 0; ; i++) exec.vu.metrics.metadata['a' + i] = v;"),
    exhausting("timers", "for (;;) setTimeout(f, 1e9);"),
    exhausting("groups in groups", "(function deeper() { group(v, deeper); })();"),
    exhausting("pages", "const a = []; for (;;) a.push(parseHTML('<p>x</p>'.repeat(1000)));"),
    exhausting(
        "selections",
        "const page = parseHTML('<p>x</p>'.repeat(1000)); const a = []; for (;;) a.push(page.find('p'));",
    ),
    exhausting("rejections", "for (;;) Promise.reject(new Array(100).fill(1));"),
];

#[test]
fn a_script_that_takes_more_than_its_memory_gets_an_error_and_goes_on() {
    assert_harmless(ROWS, LIMIT);
}

#[test]
fn what_a_script_takes_while_it_is_loaded_is_limited_too() {
    let rows = [
        (
            "shared arrays",
            "const v = 'x'.repeat(1 << 20); for (let i = 0; ; i++) new SharedArray('a' + i, () => [v]);",
        ),
        (
            "one shared array",
            "const v = 'x'.repeat(1 << 20); new SharedArray('a', () => new Array(10000).fill(v));",
        ),
        ("metrics", "for (let i = 0; ; i++) new Counter('a' + i);"),
        ("timers", "for (;;) setTimeout(() => {}, 1e9);"),
    ];
    for (name, harm) in rows {
        let source = format!(
            "import {{ SharedArray }} from 'k6/data'; import {{ Counter }} from 'k6/metrics'; {harm}
             export default function () {{}}"
        );
        let limits = Limits { memory: LIMIT, shared: 4 * LIMIT, ..Limits::default() };
        let refused = run_text(&source, limits).refused.unwrap_or_default();
        assert!(refused.contains("out of memory"), "{name}: {refused:?}");
    }
}

/// Answers each request with `head` and then `body` again and again, until the client has enough.
fn serve_without_end(head: &'static str, body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = move |mut stream: TcpStream| -> std::io::Result<()> {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request)?;
        stream.write_all(head.as_bytes())?;
        loop {
            stream.write_all(&body)?;
        }
    };
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(answer(stream))));
    format!("http://{address}/")
}

/// An answer of one body that decodes to a GiB.
fn serve_bomb(coding: Coding) -> String {
    // Twice encoded zeros are small enough to be made here.
    let body = coding.encode(&coding.encode(&vec![0; 1 << 28]).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let name = coding.name();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: {name}, {name}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    format!("http://{address}/")
}

#[test]
fn a_body_that_does_not_fit_into_the_memory_of_a_vu_is_an_error_of_its_script() {
    let mut urls = vec![
        ("endless", serve_without_end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", vec![b'x'; 1 << 16])),
        (
            "endless chunks",
            serve_without_end(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                [b"10000\r\n".as_slice(), &[b'x'; 1 << 16], b"\r\n"].concat(),
            ),
        ),
    ];
    urls.extend(
        [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd]
            .map(|one| (one.name(), serve_bomb(one))),
    );
    for (name, url) in urls {
        let source = format!(
            "import http from 'k6/http';
             export const options = {{ vus: 1, iterations: 5 }};
             let ran = 0;
             export default async function () {{
               ran++;
               if (ran === 1) http.get('{url}');
               if (ran === 2) http.batch(['{url}', '{url}']);
               if (ran === 3) await http.asyncRequest('GET', '{url}');
               if (ran === 4) {{ try {{ http.get('{url}'); }} catch (e) {{ console.log(`caught ${{e.message}}`); }} }}
               if (ran === 5) console.log('the last iteration');
             }}"
        );
        let outcome = run_text(&source, Limits { memory: LIMIT, ..Limits::default() });
        let said = outcome.lines.join("\n");
        assert_eq!(said.matches("out of memory").count(), 4, "{name}: {said}");
        assert!(
            said.contains("caught out of memory") && said.contains("the last iteration"),
            "{name}: {said}"
        );
    }
}
