//! Scripts that mean harm, one row each. Each has two iterations: the first does the harm, the second shows that the VU
//! is still there.
//!
//! What such a script does to other VUs, `hostile.rs` shows.

use knee_js::program::Limits;

use super::harness::{Outcome, run_text};

/// A script that does harm in its first iteration.
pub struct Row {
    /// What it tries.
    name: &'static str,
    /// What stands before its iterations.
    before: &'static str,
    /// Its first iteration.
    harm: &'static str,
    /// What must be logged besides; empty for nothing in particular.
    says: &'static str,
}

/// A row.
pub const fn row(name: &'static str, before: &'static str, harm: &'static str, says: &'static str) -> Row {
    Row { name, before, harm, says }
}

fn run(row: &Row, memory: usize) -> Outcome {
    let Row { before, harm, .. } = row;
    let source = format!(
        "import http from 'k6/http'; import {{ check, group, sleep }} from 'k6'; import exec from 'k6/execution';
         import crypto from 'k6/crypto'; import {{ parseHTML }} from 'k6/html'; import encoding from 'k6/encoding';
         import {{ Counter, Trend }} from 'k6/metrics'; import {{ SharedArray }} from 'k6/data';
         const BASE = __ENV.BASE; let ran = 0; const all = globalThis; const log = console.log;
         export const options = {{ vus: 1, iterations: 2 }};
         {before}
         export default async function () {{
           if (ran++) {{ log('the next iteration'); return; }}
           {harm}
         }}"
    );
    run_text(&source, Limits { memory, shared: 4 * memory, ..Limits::default() })
}

/// Each row ends its first iteration, says what it must, and goes on.
pub fn assert_harmless(rows: &[Row], memory: usize) {
    let wrong: Vec<String> = rows.iter().filter_map(|row| wrong(row, memory)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What is wrong with a row, if anything.
fn wrong(row: &Row, memory: usize) -> Option<String> {
    let outcome = run(row, memory);
    let said = outcome.refused.iter().chain(&outcome.lines).cloned().collect::<Vec<_>>().join("\n");
    let shown: String = said.chars().take(2_000).collect();
    let goes_on = said.contains("the next iteration") && outcome.iterations.to_string() == "2";
    if goes_on && said.contains(row.says) {
        return None;
    }
    Some(format!("{}: should say {:?} and go on, but says {shown:?}", row.name, row.says))
}

/// Code of the script that runs in the middle of a function of ours: getters, setters, conversions, traps.
const IN_BETWEEN: &[Row] = &[
    row(
        "a reason whose toJSON rejects another promise",
        "",
        "Promise.reject({ toJSON() { Promise.reject(1); return 'seen'; } });",
        "Uncaught (in promise)",
    ),
    row(
        "a reason whose stack rejects and handles promises",
        "",
        "Promise.reject({ get stack() { Promise.reject(2).catch(() => {}); Promise.reject(3); return 'x'; } });",
        "Uncaught (in promise)",
    ),
    row(
        "many rejections that are handled later",
        "",
        "const p = []; for (let i = 0; i < 20000; i++) p.push(Promise.reject(i)); for (const q of p) q.catch(() => {}); console.log('handled');",
        "handled",
    ),
    row(
        "a body whose tag sets the body",
        "",
        "const r = http.get(BASE + '/'); r.body = { get [Symbol.toStringTag]() { r.body = 'x'; return 'Uint8Array'; } }; r.json();",
        "",
    ),
    row(
        "a body whose tag sets the body while it is read as a page",
        "",
        "const r = http.get(BASE + '/'); r.body = { get [Symbol.toStringTag]() { r.body = 'x'; r.html(); return 'z'; } }; r.html();",
        "",
    ),
    row(
        "statuses that no function made",
        "",
        "http.setResponseCallback({ __expected: [200] });",
        "unsupported argument",
    ),
    row(
        "statuses with an odd number of ends",
        "",
        "http.get(BASE + '/', { responseCallback: { __expected: [1, 2, 3] } });",
        "unsupported responseCallback",
    ),
    row(
        "an encoding whose text feeds the digest",
        "const h = crypto.createHash('md5');",
        "h.digest({ toString() { h.update('x'); h.digest('hex'); return 'hex'; } }); console.log(h.digest('hex'));",
        "9dd4e461268c8034f5c8564e155c67a6",
    ),
    row(
        "setters that change the tags while they are read",
        "",
        "Object.defineProperty(Object.prototype, 'scenario', { set() { exec.vu.tags.a = 1; exec.vu.metrics.metadata.b = 2; }, configurable: true });
         Object.defineProperty(Object.prototype, 'group', { set() { group('x', () => exec.vu.tags.c); }, configurable: true });
         exec.vu.tags.z = 1; JSON.stringify(exec.vu.tags); group('g', () => JSON.stringify(exec.vu.tags));
         console.log(exec.vu.tags.scenario); delete Object.prototype.scenario; delete Object.prototype.group;",
        "default",
    ),
    row(
        "setters that change the jar while it is read",
        "const jar = new http.CookieJar();",
        "jar.set(BASE, 'kk', 'v'); jar.set(BASE, 'l', 'w');
         for (const name of ['kk', 'l']) Object.defineProperty(Object.prototype, name, { configurable: true,
           get() { jar.set(BASE, 'm', 'x'); jar.clear(BASE); }, set() { jar.set(BASE, 'n', 'x'); } });
         console.log(JSON.stringify(jar.cookiesForURL(BASE))); delete Object.prototype.kk; delete Object.prototype.l;",
        r#"{"kk":["v"],"l":["w"]}"#,
    ),
    row(
        "options of a cookie that change the jar",
        "const jar = new http.CookieJar();",
        "jar.set(BASE, 'a', 'b', { get domain() { jar.clear(BASE); jar.set(BASE, 'c', 'd'); return ''; }, get path() { jar.delete(BASE, 'c'); return '/'; } });
         console.log(Object.keys(jar.cookiesForURL(BASE)).join());",
        "a",
    ),
    row(
        "a number of the iteration that runs code",
        "Object.defineProperty(all, '__ITER', { get: () => 7, set() { exec.vu.tags.x = 1; Promise.reject(1).catch(() => {}); } });",
        "console.log(`iteration ${__ITER}`);",
        "iteration 7",
    ),
    row(
        "an environment that runs code",
        "all.__ENV = new Proxy({}, { set() { throw 1; }, get() { return 'x'; } });",
        "console.log(__ENV.anything);",
        "x",
    ),
    row(
        "params and tags that run code",
        "",
        "http.get(BASE + '/', { get headers() { http.get(BASE + '/'); return { get a() { throw new Error('from a header'); } }; } });",
        "from a header",
    ),
    row(
        "params that are a proxy",
        "",
        "http.get(BASE + '/', new Proxy({}, { ownKeys() { exec.vu.tags.a = 1; throw new Error('from a trap'); } }));",
        "from a trap",
    ),
    row(
        "a name of a check that is a proxy's",
        "",
        "check(1, new Proxy({}, { ownKeys() { return ['a', 'a']; } }));",
        "",
    ),
    row(
        "a group within the getter of a tag",
        "const c = new Counter('count');",
        "c.add(1, { get t() { group('g', () => c.add(1)); return 'x'; } }); console.log('counted');",
        "counted",
    ),
    row(
        "a condition that closes its own group",
        "",
        "group('outer', () => group('inner', () => { throw new Error('out of a group'); }));",
        "out of a group",
    ),
    row(
        "nodes that are selected while they are walked",
        "const page = parseHTML('<p>1<p>2<p>3');",
        "page.find('p').each((i, e) => page.find('p').map(() => page.find('p').filter((j, f) => page.find('p').is(f)))); console.log('walked');",
        "walked",
    ),
    row(
        "nodes of another page",
        "const one = parseHTML('<p>1'); const other = parseHTML('<b>x</b>'.repeat(1000));",
        "one.find('p').add(other.find('b')).text(); one.find('p').not(other.find('b')).text(); one.find('p').index(other.find('b')); one.closest(other.find('b')); console.log('kept apart');",
        "kept apart",
    ),
    row(
        "a stack that runs code",
        "",
        "Error.prepareStackTrace = () => { http.get(BASE + '/'); exec.vu.tags.a = 'b'; return 'stack'; }; try { http.get(); } catch (e) { e.stack; } try { crypto.createHash('x'); } catch (e) { e.stack; } delete Error.prepareStackTrace; console.log('traced');",
        "traced",
    ),
    row(
        "an error whose stack throws",
        "",
        "throw { get stack() { throw this; }, toString() { throw this; }, toJSON() { throw this; } };",
        "a value that cannot be shown",
    ),
    row(
        "an array of more elements than a number of 31 bits",
        "",
        "try { console.log(new Array(4294967295)); } catch (e) {} console.log('shown');",
        "shown",
    ),
    row(
        "detached buffers",
        "",
        "const b = new ArrayBuffer(8), v = new Uint8Array(b); b.transfer();
         for (const x of [b, v]) { for (const f of [() => http.post(BASE + '/', x), () => crypto.md5(x), () => encoding.b64encode(x), () => console.log(x), () => http.file(x), () => new TextDecoder().decode(x)]) { try { f(); } catch (e) {} } }
         console.log('gone');",
        "gone",
    ),
    row(
        "a view whose buffer goes while it is read",
        "",
        "const b = new ArrayBuffer(64);
         const fake = { get byteLength() { return 64; }, get byteOffset() { try { b.transfer(); } catch (e) {} return 0; }, buffer: b };
         http.post(BASE + '/', fake); console.log('read');",
        "read",
    ),
    row(
        "letters that are half of a pair",
        "",
        "const half = '\\ud800'; try { http.post(BASE + '/', half); } catch (e) {} try { http.post(BASE + '/', { a: half }); } catch (e) {} try { http.get(BASE + '/' + half); } catch (e) {}
         try { http.get('http://' + half + '/'); } catch (e) {} try { crypto.md5(half); } catch (e) {} try { encoding.b64encode(half); } catch (e) {} try { console.log(half); } catch (e) {} try { group(half, () => {}); } catch (e) {}
         try { check(1, { [half]: true }); } catch (e) {} try { parseHTML(half).find(half).text(); } catch (e) {} console.log('written');",
        "written",
    ),
    row(
        "numbers beyond all bounds",
        "const t = new Trend('trend');",
        "for (const n of [Infinity, -Infinity, NaN, 1e308, -1e308, 5e-324, -0, 2 ** 53, -(2 ** 63)]) {
           try { t.add(n); } catch (e) {} try { http.get(BASE + '/', { timeout: n === Infinity ? 1e300 : 1000 + n, redirects: n }); } catch (e) {}
           try { setTimeout(() => {}, n > 0 ? 0 : n); } catch (e) {} try { crypto.randomBytes(n); } catch (e) {} try { http.expectedStatuses(n, { min: n, max: n }); } catch (e) {}
           try { parseHTML('<p>').find('p').eq(n).slice(n, n).get(n); } catch (e) {} try { clearTimeout(n); } catch (e) {} }
         console.log('computed');",
        "computed",
    ),
];

#[test]
fn code_of_a_script_that_runs_in_the_middle_of_a_call_does_no_harm() {
    assert_harmless(IN_BETWEEN, 64 << 20);
}

/// Prototypes and globals that a script has changed before our functions use them.
const CHANGED: &[Row] = &[
    row(
        "a setter on an index of all arrays",
        "Object.defineProperty(Array.prototype, 0, { set() { throw new Error('a setter'); }, get() { return 7; }, configurable: true });",
        "const [r] = [http.batch([BASE + '/', { method: 'GET', url: BASE + '/2' }])]; console.log(r[0].status, r[1].status, r.length);",
        "200 200 2",
    ),
    row(
        "setters on the names of what our objects have",
        "for (const name of ['status', 'headers', 'Content-Type', 'duration', 'method', 'url', 'cookies', 'name', 'remote_ip', 'body', 'User-Agent', 'data', 'filename'])
           Object.defineProperty(Object.prototype, name, { set() { throw new Error('a setter'); }, get() {}, configurable: true });",
        "const r = http.get(BASE + '/cookies/set?a=b'); console.log(r.status, r.headers['Content-Type'], typeof r.timings.duration, typeof r.request.headers, JSON.stringify(r).length > 100);",
        "200 application/json number object true",
    ),
    row(
        "getters on the names by which objects were marked",
        "for (const name of ['__url', '__file', '__expected']) Object.defineProperty(Object.prototype, name, { get() { throw new Error('a getter'); } });",
        "const r = http.batch([{ url: BASE + '/a' }]); http.post(BASE + '/b', { a: { b: 1 }, f: http.file('x', 'y') }); http.get(http.url`${BASE}/c`);
         http.get(BASE + '/d', { responseCallback: http.expectedStatuses(200) }); console.log(r[0].status);",
        "200",
    ),
    row(
        "no functions on any prototype",
        "const targets = [Array, Object, String, Number, Function, Promise, Map, Set, Date, Reflect, JSON, Math].flatMap((o) => [o, o.prototype])
           .filter((o) => o).map((o) => [o, Object.getOwnPropertyNames(o).filter((name) => name !== 'prototype')]);
         for (let i = 0; i < targets.length; i++) for (let j = 0; j < targets[i][1].length; j++) { try { targets[i][0][targets[i][1][j]] = undefined; } catch (e) {} }",
        "const r = http.get(BASE + '/json'); log(r.json().ok, r.json('a.b.0'), r.html().text().length > 0, r.headers.length);
         http.post(BASE + '/', { a: 1 }); http.batch([BASE + '/']); check(r, { 'a check': (r) => r.status === 200 }); exec.vu.tags.x = 'y'; group('g', () => 1);
         setTimeout((a, b) => log('after ' + a + ' ' + b), 1, 'some', 'time');",
        "after some time",
    ),
    row(
        "an iterator of arrays that throws",
        "Array.prototype[Symbol.iterator] = () => { throw new Error('an iterator'); };",
        "http.batch([BASE + '/']); new TextDecoder().decode(new TextEncoder().encode('abc')); new Counter; ",
        "",
    ),
    row(
        "setters on the methods of our classes",
        "const names = ['update', 'digest', 'find', 'text', 'json', 'html', 'set', 'clear', 'submitForm'];
         for (const name of names) Object.defineProperty(Object.prototype, name, { set() { crypto.createHash('md5'); parseHTML('<p>'); new http.CookieJar(); }, get() {}, configurable: true });",
        "crypto.createHash('sha1').update('x'); parseHTML('<p>x').find('p').text(); new http.CookieJar().set(BASE, 'a', 'b'); http.get(BASE + '/json').json(); console.log('made');",
        "made",
    ),
    row(
        "a then that everything has",
        "Object.defineProperty(Object.prototype, 'then', { get() { return undefined; }, configurable: true });",
        "const r = await http.asyncRequest('GET', BASE + '/'); console.log(r.status);",
        "200",
    ),
    row("no console", "all.console = undefined;", "throw new Error('seen all the same');", "seen all the same"),
    row("promises that are gone", "all.Promise = undefined;", "const r = await http.asyncRequest('GET', BASE + '/'); console.log(r.status);", "200"),
];

#[test]
fn changed_prototypes_do_no_harm() {
    assert_harmless(CHANGED, 64 << 20);
}

/// Loops in native code, each of which takes hours or longer.
const ENDLESS: &[(&str, &str)] = &[
    ("reverse", "[].reverse.call({ length: 2 ** 53 - 1 })"),
    ("indexOf", "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)"),
    ("lastIndexOf", "[].lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)"),
    ("includes", "[].includes.call({ length: 2 ** 53 - 1 }, 1)"),
    ("join", "[].join.call({ length: 2 ** 53 - 1 }, '')"),
    ("fill", "[].fill.call(new Proxy({ length: 2 ** 53 - 1 }, { set: () => true }), 1)"),
    ("copyWithin", "[].copyWithin.call({ length: 2 ** 53 - 1 }, 1, 0)"),
    ("splice", "[].splice.call({ length: 2 ** 53 - 2 }, 0, 0, 1)"),
    ("unshift", "[].unshift.call({ length: 2 ** 53 - 2 }, 1)"),
    ("forEach", "[].forEach.call({ length: 2 ** 53 - 1 }, Math.abs)"),
    ("reduce", "[].reduce.call({ length: 2 ** 53 - 1 }, Math.abs, 1)"),
    ("find", "[].find.call({ length: 2 ** 53 - 1 }, Boolean)"),
    ("sort of a proxy", "[].sort.call({ length: 2 ** 53 - 1 })"),
    ("String.raw", "String.raw({ raw: { length: 2 ** 53 - 1, get 0() { return ''; } } })"),
    ("a set of an iterator", "new Set([].values.call({ length: 2 ** 53 - 1 }))"),
    ("an iterator that drops", "[].values.call({ length: 2 ** 53 - 1 }).drop(2 ** 53 - 1).next()"),
    ("a search in a long text", "'a'.repeat(2 ** 23).indexOf('a'.repeat(2 ** 22) + 'b')"),
    (
        "a search in a text of wide letters",
        "'\\u0101'.repeat(2 ** 22).includes('\\u0101'.repeat(2 ** 21) + 'b')",
    ),
    ("a split of a long text", "'a'.repeat(2 ** 23).split('a'.repeat(2 ** 22) + 'b')"),
    (
        "a sort of long texts",
        "const [y, z] = [[x, 'b'].join(''), [x, 'c'].join('')]; Array.from({ length: 1e6 }, (_, i) => (i % 2 ? y : z)).sort()",
    ),
    (
        "a search among long texts",
        "const y = [x, 'b'].join(''); new Array(1e6).fill(y).indexOf([x, 'c'].join(''))",
    ),
    ("large numbers", "const n = 3n ** 50000n; for (;;) n * n"),
    ("long JSON", "const j = JSON.stringify(new Array(1e4).fill(1)); for (;;) JSON.parse(j)"),
    ("digests of a long text", "for (;;) crypto.sha512(x, 'hex')"),
    ("iterations that never wait", "for (let i = 0; i < 1000; i++) crypto.md5('x', 'hex'); return"),
    ("requests that no code waits for", "for (;;) http.asyncRequest('GET', BASE + '/')"),
    ("pages", "const h = '<p>x</p>'.repeat(5000); for (;;) parseHTML(h)"),
    ("siblings of siblings", "parseHTML('<p>x</p>'.repeat(30000)).find('p').siblings()"),
];

/// One script for each loop, beside a VU that sends requests all the time.
fn beside_others(harm: &str) -> Outcome {
    let source = format!(
        "import http from 'k6/http'; import crypto from 'k6/crypto'; import {{ parseHTML }} from 'k6/html';
         import {{ sleep }} from 'k6';
         const of = (exec) => ({{ executor: 'constant-vus', vus: 1, duration: '1s', exec, gracefulStop: '0s' }});
         export const options = {{ scenarios: {{ bad: of('bad'), good: of('good') }} }};
         const x = 'a'.repeat(1 << 20); const BASE = __ENV.BASE;
         export function bad() {{ {harm}; console.log('it ended by itself'); sleep(10); }}
         export function good() {{ http.get(__ENV.BASE + '/'); sleep(0.001); }}"
    );
    run_text(&source, Limits::default())
}

#[test]
fn a_loop_in_native_code_neither_stops_other_vus_nor_outlives_the_run() {
    let mut wrong = Vec::new();
    for (name, harm) in ENDLESS {
        let outcome = beside_others(harm);
        let lines: Vec<String> =
            outcome.lines.iter().take(3).map(|line| line.chars().take(300).collect()).collect();
        // How much a loop makes within its second is a matter of the machine: that it meets the limit of memory is well.
        let unexpected = lines.iter().any(|line| !line.contains("out of memory"));
        // One request can be under way before the loop begins; the next shows that others go on, however slow the machine.
        if outcome.requests.len() < 2 || unexpected {
            wrong.push(format!("{name}: {} requests, {lines:?}", outcome.requests.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
