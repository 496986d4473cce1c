//! The table of server faults: one row per behaviour of a server, with the outcome, the fault and who is to blame.
//!
//! Each row is met at three rates: by one request at 300 requests/s, by every third one at 1,000/s, and by all at
//! 3,000/s. Rows about responses are also met over TLS and on connections that served a request before.
//! `docs/reference/faults.md` describes them for users.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use knee_core::outcome::{Blame, Fault, Outcome};
use knee_core::unit::Nanos;

use crate::behaviour::Behaviour;
use crate::drive::{Drive, all, count, faults};
use crate::identity::{Certificate, Greeting};
use crate::server::Server;

mod bodies;
mod connections;
mod events;
mod framing;
mod hang_ups;
mod heads;
mod places;
mod redirects;
mod slowness;
mod unusual;

/// The expected result of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// A fault; the connection is closed.
    In(Fault, Blame),
    /// A response with this status.
    With(u16),
}

/// Declares rows: a test for each, and the list of their names.
macro_rules! rows {
    ($check:ident; $($name:ident: $what:expr => $ends:expr;)*) => {
        $(#[test] fn $name() { $check(&$what, $ends); })*
        /// Names of the rows.
        pub const ROWS: &[&str] = &[$(stringify!($name)),*];
    };
}
pub(crate) use rows;

/// Requests of each run; every one opens a connection.
const REQUESTS: u64 = 12;

/// Which connections meet the fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    One,
    Third,
    All,
}

impl Share {
    /// Each share with an arrival rate.
    const RATES: [(Self, f64); 3] = [(Self::One, 300.0), (Self::Third, 1_000.0), (Self::All, 3_000.0)];

    /// Whether the connection with this number meets it.
    pub const fn has(self, connection: u64) -> bool {
        match self {
            Self::One => connection == 4,
            Self::Third => connection % 3 == 1,
            Self::All => true,
        }
    }

    /// How many of the connections of a run do.
    fn count(self) -> u64 {
        (0..REQUESTS).filter(|connection| self.has(*connection)).count() as u64
    }
}

/// An open run in which every request opens a connection.
fn drive(url: &str, rate: f64) -> Drive {
    let mut drive = Drive::open(url, REQUESTS, REQUESTS as u32, rate).trusting();
    (drive.settings.keep_alive, drive.defaults.keep_alive) = (false, false);
    drive
}

/// Checks a row about responses, in all kinds of runs at the same time.
pub fn check(behaviour: &Behaviour, ends: Ends) {
    check_with(behaviour, ends, |drive| drive);
}

/// The same after `change` of each run.
pub fn check_with(behaviour: &Behaviour, ends: Ends, change: fn(Drive) -> Drive) {
    thread::scope(|scope| {
        for (share, rate) in Share::RATES {
            scope.spawn(move || on_new_connections(behaviour, ends, Greeting::Plain, (share, rate), change));
        }
        let tls = Greeting::Tls(Certificate::Good);
        scope.spawn(move || on_new_connections(behaviour, ends, tls, (Share::Third, 1_000.0), change));
        scope.spawn(move || on_kept_connections(behaviour, ends, change));
    });
}

/// Checks a row about responses that needs TLS.
pub fn check_over_tls(behaviour: &Behaviour, ends: Ends) {
    thread::scope(|scope| {
        for greeting in [Greeting::Tls(Certificate::Good), Greeting::OlderTls] {
            for rate in Share::RATES {
                scope.spawn(move || on_new_connections(behaviour, ends, greeting, rate, |drive| drive));
            }
        }
    });
}

/// The requests of some new connections meet `behaviour`.
fn on_new_connections(
    behaviour: &Behaviour,
    ends: Ends,
    greeting: Greeting,
    (share, rate): (Share, f64),
    change: fn(Drive) -> Drive,
) {
    let script = behaviour.clone();
    let server = Server::greeting(
        move |_| greeting,
        move |request| if share.has(request.connection) { script.clone() } else { Behaviour::Good },
    );
    let url = if greeting == Greeting::Plain { server.url("/") } else { server.secure_url("/") };
    verify(behaviour, ends, share.count(), &change(drive(&url, rate)), &server);
}

/// Four requests on connections that served one before meet `behaviour`. Without any byte of a response, the
/// server could have closed an idle connection while the request was sent: it is sent again.
fn on_kept_connections(behaviour: &Behaviour, ends: Ends, change: fn(Drive) -> Drive) {
    const BAD: u64 = 4;
    let bad = AtomicU64::new(0);
    let script = behaviour.clone();
    let server = Server::start(move |request| {
        let is_bad = request.place > 0 && bad.fetch_add(1, Ordering::SeqCst) < BAD;
        if is_bad { script.clone() } else { Behaviour::Good }
    });
    let drive = change(Drive::closed(&server.url("/"), REQUESTS, 3));
    if behaviour.is_hang_up() {
        let run = drive.run();
        assert_eq!(count(&run, Outcome::Ok), REQUESTS, "{behaviour:?}: {:?}", faults(&run));
        assert_eq!(all(&run).resent, BAD, "{behaviour:?}");
        server.all_closed();
    } else {
        verify(behaviour, ends, BAD, &drive, &server);
    }
}

/// Makes the run and expects `bad` requests to end in `ends` and all others well.
fn verify(behaviour: &Behaviour, ends: Ends, bad: u64, drive: &Drive, server: &Server) {
    let run = drive.run();
    let tally = all(&run);
    let seen = server.all_closed();
    match ends {
        Ends::In(fault, blame) => {
            assert_eq!(faults(&run), [(fault, bad)], "{behaviour:?}: {:?}", tally.faults);
            assert_eq!(fault.blame(), blame, "{behaviour:?}");
            assert_eq!(count(&run, fault.outcome()), bad, "{behaviour:?}");
            assert_eq!(count(&run, Outcome::Ok), REQUESTS - bad, "{behaviour:?}");
        }
        Ends::With(status) => {
            let met = tally.status.iter().find(|(known, _)| *known == status).map_or(0, |(_, met)| *met);
            let expected = if status == 200 { REQUESTS } else { bad };
            assert_eq!(met, expected, "{behaviour:?}: {:?} {:?}", tally.status, tally.faults);
            let failed = if (200..400).contains(&status) { 0 } else { bad };
            assert_eq!(count(&run, Outcome::HttpError), failed, "{behaviour:?}");
            assert_eq!(count(&run, Outcome::Ok), REQUESTS - failed, "{behaviour:?}");
        }
    }
    assert_eq!(tally.resent, 0, "{behaviour:?}");
    assert_eq!(seen.after_fault, 0, "{behaviour:?}: nothing is sent on a connection that went wrong");
    assert_eq!(seen.requests.len() as u64, REQUESTS, "{behaviour:?}: each request is sent once");
}

/// Checks a row about what a server does with a new connection: those of a share meet `greeting`, all others `good`.
pub fn check_greeting(greeting: Greeting, good: Greeting, ends: Ends) {
    let Ends::In(fault, blame) = ends else { panic!("a greeting that is no fault: {greeting:?}") };
    assert_eq!(fault.blame(), blame, "{greeting:?}");
    let meet = |share: Share, rate| {
        let server = Server::greeting(
            move |connection| if share.has(connection) { greeting } else { good },
            |_| Behaviour::Good,
        );
        let url = if good == Greeting::Plain { server.url("/") } else { server.secure_url("/") };
        let limit = Nanos::from_secs(1);
        let run = drive(&url, rate).with(|settings| settings.connect_timeout = limit).run();
        assert_eq!(faults(&run), [(fault, share.count())], "{greeting:?}: {:?}", all(&run).faults);
        assert_eq!(count(&run, fault.outcome()), share.count(), "{greeting:?}");
        assert_eq!(count(&run, Outcome::Ok), REQUESTS - share.count(), "{greeting:?}");
        server.all_closed();
    };
    thread::scope(|scope| {
        let meet = &meet;
        for (share, rate) in Share::RATES {
            scope.spawn(move || meet(share, rate));
        }
    });
}

#[test]
fn the_table_has_at_least_eighty_rows_and_none_twice() {
    let parts = [
        bodies::ROWS,
        connections::ROWS,
        connections::streams::ROWS,
        events::ROWS,
        events::UNTIL_ROWS,
        framing::ROWS,
        hang_ups::ROWS,
        heads::ROWS,
        places::ROWS,
        redirects::ROWS,
        slowness::ROWS,
        unusual::ROWS,
    ];
    let names: Vec<&str> = parts.concat();
    println!("{} rows", names.len());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(names.len() >= 80);
}
