//! Virtual users that are dropped, as sweeps and studies drop them step by step: they keep nothing.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::deadline::Deadlines;
use knee_engine::endpoints::{Endpoints, Registry};
use knee_engine::http::client::Network;
use knee_engine::http::origin::Resolver;
use knee_engine::http::request::Defaults;
use knee_engine::http::settings::Settings;
use knee_engine::recorder::Recorder;
use knee_engine::timer::WorkerTimer;
use knee_js::loader::remote::RemoteSettings;
use knee_js::op::{Call, Ended, Stage};
use knee_js::program::files::Reach;
use knee_js::program::{Limits, Program, Surroundings};
use knee_js::vu::Vu;
use knee_k6::flight::Late;
use knee_k6::http::send::RequestSender;
use knee_k6::observe::Nobody;

use super::server::Server;

/// Uses everything that keeps values of the script: closures of modules, timers, promises, responses, classes.
const SCRIPT: &str = "
    import http from 'k6/http'; import exec, { scenario } from 'k6/execution'; import { SharedArray } from 'k6/data';
    import { Counter, Trend } from 'k6/metrics'; import { check, group } from 'k6'; import { parseHTML } from 'k6/html';
    import crypto from 'k6/crypto'; import encoding from 'k6/encoding';
    const shared = new SharedArray('data', () => [{ a: [1, 2, 3] }, 'text']);
    const [count, trend] = [new Counter('count'), new Trend('trend', true)];
    const around = { exec, scenario, shared, count, http }; around.self = around;
    globalThis.kept = [around, () => around, new Proxy(around, {}), new Map([[around, around]])];
    clearTimeout(setTimeout(() => around, 1e9)); const interval = setInterval(function () { return this; }, 1e9); clearInterval(interval);
    export default async function () {
      const response = http.post(__ENV.BASE + '/json', { a: 'b' }, { tags: { t: 'u' } });
      around.response = response; kept.push(response, response.json(), response.headers, response.timings, response.html());
      const other = await http.asyncRequest('GET', __ENV.BASE + '/json');
      kept.push(...http.batch([__ENV.BASE + '/json', __ENV.BASE + '/json']), other, http.cookieJar(), http.url`${1}a`);
      group('g', () => check(response, { 'a check': (r) => r.status === 200 }));
      count.add(1, { of: 'it' }); trend.add(2); exec.vu.tags.mine = 'yes'; exec.vu.metrics.metadata.more = 'no';
      const page = parseHTML('<p>a<p>b'); page.find('p').each((i, e) => kept.push(e)); kept.push(page, page.children());
      const hash = crypto.createHash('sha256'); hash.update('x'); kept.push(hash, hash.digest('binary'), crypto.randomBytes(10));
      kept.push(encoding.b64decode('YWJj'), shared[0], [...shared], new Error('e'), Promise.resolve(around));
      new Promise((resolve) => kept.push(resolve)); setTimeout(() => kept.push(around), 0);
      Promise.reject(around).catch((one) => kept.push(one));
      http.asyncRequest('GET', __ENV.BASE + '/json').then((one) => kept.push(one));
      if (__VU % 3 === 0) throw new Error('an iteration that fails', { cause: around });
    }";

fn program(server: &Server) -> Arc<Program> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, SCRIPT).unwrap();
    let surroundings = Surroundings {
        environment: vec![("BASE".into(), server.base.clone())],
        reach: Reach::default(),
        limits: Limits::default(),
        narrator: Arc::new(|_| {}),
        console: None,
        remote: RemoteSettings::default(),
        secrets: Arc::default(),
    };
    Arc::new(Program::new(&*script, surroundings).unwrap())
}

fn sender() -> Rc<RequestSender> {
    let clock = MonotonicClock::start();
    let timer = WorkerTimer::new(clock).unwrap();
    tokio::task::spawn_local(timer.clone().drive());
    let (settings, deadlines) = (Arc::new(Settings::default()), Rc::new(Deadlines::default()));
    let network =
        Network::new(clock, settings, Defaults::default(), Arc::new(Resolver::default()), None, deadlines);
    Rc::new(RequestSender {
        network: Rc::new(network),
        recorder: Rc::new(RefCell::new(Recorder::new(Nanos::ZERO))),
        endpoints: Endpoints::new(Arc::new(Registry::new(&[]))),
        timer,
        observer: Rc::new(Nobody),
        user_agent: "test".into(),
        pace: None,
        ceiling: None,
        secrets: Arc::default(),
    })
}

#[test]
fn a_thousand_virtual_users_that_are_dropped_keep_no_value_and_no_byte() {
    let server = Server::start();
    let program = program(&server);
    let runtime = WorkerTimer::runtime().unwrap();
    let failed = runtime.block_on(async {
        let (targets, sender) = (Rc::default(), sender());
        let mut failed = 0;
        for number in 1..=1_000 {
            let (mut vu, _) = Vu::load(&program, &targets, number).unwrap();
            let account = vu.state().account.clone();
            vu.join(sender.clone());
            // Some are dropped before they have run.
            if number % 10 != 0 {
                let call = Call { export: "default".into(), stage: Stage::Iteration, argument: None };
                let ended = vu.call(call, Late::default(), Nanos::MAX).await;
                failed += usize::from(matches!(ended, Ended::Thrown(_)));
                assert!(matches!(ended, Ended::Thrown(_) | Ended::Returned(_)), "{ended:?}");
            }
            assert!(account.used() > 100_000, "the script is there: {} bytes", account.used());
            drop(vu);
            assert_eq!(account.used(), 0, "bytes that virtual user {number} has left behind");
        }
        failed
    });
    assert!((1..900).contains(&failed), "{failed} iterations failed");
}
