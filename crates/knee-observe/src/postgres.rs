//! A PostgreSQL server, 13 or later: statistics views once per interval, activity up to ten times per second.
//!
//! Only reads, and only by statements that end within half a second. [`group`] makes figures of views, [`activity`]
//! counts what backends do, [`statements`] follows statements, [`catalog`] describes tables and settings,
//! [`hypothetical`] asks about indexes that do not exist.

use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::observation::Proposal;
use knee_core::unit::Nanos;
use url::Url;

use crate::address::Address;
use crate::figures::Figures;
use crate::pace::{self, slower};
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::session::{Answer, OWN_NAME, PARAMETERS, Refusal, Session};

mod activity;
mod catalog;
mod group;
mod hypothetical;
mod plan;
mod statements;
mod views;

use activity::Activity;
use group::Group;
pub(crate) use hypothetical::Learned;
use statements::Statements;

/// What is large is read once in so many intervals.
const SLOW: u64 = 5;

/// The oldest version that is read.
const VERSION_MIN: u32 = 13;

/// Asked first: version, whether the session is what it was asked to be, which database it is, whether the role is a
/// superuser, and whether knee started the server (`knee-fixture` sets this).
const GREETING: &str = "SELECT /* knee-observe */ current_setting('server_version_num'), \
                        current_setting('server_version'), current_setting('default_transaction_read_only'), \
                        pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), \
                        (SELECT oid FROM pg_database WHERE datname = current_database()), \
                        current_setting('is_superuser'), current_setting('knee.started', true)";

/// What is missing of a replica that became a primary.
const PROMOTED: &str = "figures of a replica: it was promoted while it was observed";

/// A PostgreSQL server.
pub(crate) struct Postgres {
    address: Result<Address, String>,
    clock: MonotonicClock,
    interval: Nanos,
    connected: Option<Connected>,
    about: About,
    /// The work of the observer itself, of all its sessions.
    own: Own,
    /// Outlives sessions, because it knows how much each statement had done at the first reading.
    statements: Statements,
    activity: Activity,
    role: Role,
}

/// Whether the server is a replica, over all sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Role {
    /// `None` before it is known.
    is_replica: Option<bool>,
    was_promoted: bool,
}

/// What a session says first.
struct Greeting {
    version: u32,
    /// The version as people write it.
    shown: String,
    /// Whether the role sees what other users do.
    reads_all: bool,
    /// The number of the database.
    database: String,
    /// Whether the role can do more than an observer needs, on a server that knee did not start.
    is_superuser: bool,
}

/// The observer's own work, which servers count too.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    sessions: f64,
    transactions: f64,
    /// The last commits and sessions that were reported, because servers count with delay.
    reported: [f64; 2],
}

/// What is there while a session lasts.
struct Connected {
    session: Session,
    version: u32,
    fast: Vec<Group>,
    slow: Vec<Group>,
    /// When what is large is due.
    slow_due: Nanos,
    is_superuser: bool,
    described: bool,
}

impl Postgres {
    /// The server at this URL.
    pub(crate) fn new(url: &Url, clock: MonotonicClock, interval: Nanos) -> Self {
        Self {
            address: address(url),
            clock,
            interval,
            connected: None,
            about: About::default(),
            own: Own::default(),
            statements: Statements::default(),
            activity: Activity::default(),
            role: Role::default(),
        }
    }

    /// Remembers what cannot be asked, once.
    fn miss(&mut self, what: &str, reason: &str) {
        let words = format!("{what}: {reason}");
        if !self.about.without.contains(&words) {
            self.about.without.push(words);
        }
    }

    /// Goes on after a refusal, unless the session is over.
    fn settle<T>(&mut self, what: &str, answer: Answer<T>) -> Result<Option<T>, Unreadable> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Refusal::Never(reason)) => {
                self.miss(what, &reason);
                Ok(None)
            }
            Err(Refusal::Now(_)) => Ok(None),
            Err(Refusal::Over(reason)) => Err(Unreadable(reason)),
        }
    }

    fn read_fast(&mut self, connected: &mut Connected, figures: &mut Figures) -> Result<(), Unreadable> {
        self.read_views(&mut connected.fast, &connected.session, figures)?;
        self.role.note(figures);
        self.activity.take(figures);
        Ok(())
    }

    fn read_views(
        &mut self,
        groups: &mut [Group],
        session: &Session,
        figures: &mut Figures,
    ) -> Result<(), Unreadable> {
        let missing = group::read(groups, session, figures).map_err(over)?;
        for (what, reason) in missing {
            self.miss(what, &reason);
        }
        Ok(())
    }

    fn read_slow(
        &mut self,
        connected: &mut Connected,
        now: Nanos,
        figures: &mut Figures,
    ) -> Result<(), Unreadable> {
        let began = self.clock.now();
        self.read_views(&mut connected.slow, &connected.session, figures)?;
        let answer = self.statements.read(&connected.session, now, figures);
        self.settle("statements", answer)?;
        let missing = self.activity.most_active(|id| !self.statements.has_text(id));
        let answer = self.statements.read_running(&connected.session, &missing, figures);
        self.settle("texts of statements", answer)?;
        let answer = self.statements.read_plan(&connected.session, connected.version, figures);
        self.settle("plans", answer)?;
        let took = self.clock.now().since(began);
        connected.slow_due = now.saturating_add(slower(Nanos(self.interval.0.saturating_mul(SLOW)), took));
        Ok(())
    }

    fn describe(&mut self, connected: &mut Connected, figures: &mut Figures) -> Result<(), Unreadable> {
        if connected.described {
            return Ok(());
        }
        for question in catalog::QUESTIONS {
            let answer = question.read(&connected.session, figures);
            self.settle(question.what, answer)?;
        }
        if connected.is_superuser {
            figures.text("role", "", "superuser");
        }
        connected.described = true;
        Ok(())
    }

    fn read_all(
        &mut self,
        connected: &mut Connected,
        now: Nanos,
        depth: Depth,
        figures: &mut Figures,
    ) -> Result<(), Unreadable> {
        self.read_fast(connected, figures)?;
        if depth == Depth::Whole || connected.slow_due <= now {
            self.read_slow(connected, now, figures)?;
            self.describe(connected, figures)?;
        }
        self.own.transactions += connected.session.take_asked();
        self.own.leave_out(figures);
        Ok(())
    }
}

impl Sampler for Postgres {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let session = begin(&self.address)?;
        self.own.sessions += 1.0;
        self.own.transactions += 1.0;
        let Greeting { version, shown, reads_all, database, is_superuser } = greeting(&session)?;
        self.about = About { version: Some(format!("PostgreSQL {shown}")), ..About::default() };
        if !reads_all {
            self.miss("statements and activity of other users", "the role is no member of pg_read_all_stats");
        }
        let answer = self.activity.prepare(&session, version, &database);
        self.settle("activity", answer)?;
        let answer = self.statements.prepare(&session, version);
        self.settle("statements", answer)?;
        let (fast, slow) = (views::fast(version), views::slow(version));
        let slow_due = Nanos::ZERO;
        let described = false;
        self.connected = Some(Connected { session, version, fast, slow, slow_due, is_superuser, described });
        Ok(())
    }

    fn look_pace(&self, planned: Option<Nanos>) -> Option<Duration> {
        Some(pace::of_looks_at_a_server(planned).into())
    }

    fn look(&mut self) -> Result<(), Unreadable> {
        let Some(connected) = &self.connected else { return Ok(()) };
        let answer = self.activity.look(&connected.session);
        self.settle("activity", answer).map(drop)
    }

    fn read(&mut self, now: Nanos, depth: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        let Some(mut connected) = self.connected.take() else {
            return Err(Unreadable("the connection is closed".to_owned()));
        };
        let read = self.read_all(&mut connected, now, depth, figures);
        self.connected = Some(connected);
        read
    }

    fn about(&self) -> About {
        let mut about = self.about.clone();
        about.without.extend(self.statements.missing().map(str::to_owned));
        about.without.extend(self.role.was_promoted.then(|| PROMOTED.to_owned()));
        about.left_out = self.statements.left_out();
        about
    }

    fn disconnect(&mut self) {
        if let Some(connected) = self.connected.take() {
            self.own.transactions += connected.session.take_asked();
        }
    }
}

impl Role {
    /// Notes the role in a reading.
    fn note(&mut self, figures: &Figures) {
        let Some(figure) = figures.now.iter().find(|figure| figure.name == "replica") else { return };
        let is_replica = figure.value > 0.5;
        self.was_promoted |= self.is_replica == Some(true) && !is_replica;
        self.is_replica = Some(is_replica);
    }
}

impl Own {
    /// Subtracts the observer's own statements from what the server counted.
    fn leave_out(&mut self, figures: &mut Figures) {
        let own = [self.transactions, self.sessions];
        for (place, name) in ["database.commits", "database.sessions"].into_iter().enumerate() {
            for figure in figures.now.iter_mut().filter(|figure| figure.name == name) {
                let left = (figure.value - own[place]).max(0.0);
                // The server counts some of it only a second later; a counter that falls would mean a reset.
                let is_late = left < self.reported[place] && self.reported[place] - left <= own[place];
                figure.value = if is_late { self.reported[place] } else { left };
                self.reported[place] = figure.value;
            }
        }
    }
}

/// Asks the planner of a server about indexes that do not exist, in a session of its own. Asks about none after `until`.
pub(crate) fn ask(
    url: &Url,
    proposals: &[Proposal],
    clock: MonotonicClock,
    until: Nanos,
) -> Result<Learned, Unreadable> {
    let session = begin(&address(url))?;
    let version = greeting(&session)?.version;
    hypothetical::ask(&session, version, proposals, || clock.now() < until).map_err(over)
}

/// Where a server is, with what its sessions have from the start.
fn address(url: &Url) -> Result<Address, String> {
    Address::new(url, |config| {
        let given = config.get_options().map(|given| format!("{given} ")).unwrap_or_default();
        config.application_name(OWN_NAME).options(format!("{given}{PARAMETERS}"));
    })
}

fn begin(address: &Result<Address, String>) -> Result<Session, Unreadable> {
    let address = address.as_ref().map_err(|reason| Unreadable(reason.clone()))?;
    Session::begin(address).map_err(|Unreadable(reason)| Unreadable(explained(reason)))
}

/// What a session says first, if it is what it was asked to be.
fn greeting(session: &Session) -> Result<Greeting, Unreadable> {
    let rows = session.texts(GREETING).map_err(over)?;
    let row = rows.first().ok_or_else(|| Unreadable("it does not answer as PostgreSQL does".to_owned()))?;
    let text = |place: usize| row.get(place).unwrap_or_default().to_owned();
    let number: u32 = text(0).parse().unwrap_or(0);
    let version = number / 10_000;
    if version < VERSION_MIN {
        return Err(Unreadable(format!("PostgreSQL {} is older than {VERSION_MIN}", text(1))));
    }
    if text(2) != "on" {
        let reason = "the session is not read-only: a pooler stands between; observe the server itself";
        return Err(Unreadable(reason.to_owned()));
    }
    let is_superuser = text(5) == "on" && text(6) != "on";
    Ok(Greeting { version, shown: text(1), reads_all: text(3) == "t", database: text(4), is_superuser })
}

fn over(refusal: Refusal) -> Unreadable {
    match refusal {
        Refusal::Never(reason) | Refusal::Now(reason) | Refusal::Over(reason) => Unreadable(reason),
    }
}

/// Why a server did not accept the parameters of the session, if its message shows that.
fn explained(reason: String) -> String {
    if reason.contains("unsupported startup parameter") {
        return format!(
            "{reason}: a pooler stands between; observe the server itself, and the pooler by pgbouncer://"
        );
    }
    // PostgreSQL knows all of them since version 12. A server that does not is refused before it can say its version.
    if reason.contains("unrecognized configuration parameter") {
        return format!(
            "{reason}: it is older than PostgreSQL {VERSION_MIN}, or another server with its protocol"
        );
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_becomes_a_primary_was_promoted_and_no_other_server_was() {
        let after = |levels: &[f64]| {
            let mut role = Role::default();
            for level in levels {
                let mut figures = Figures::default();
                figures.gauge("replica", crate::figures::Count, *level);
                role.note(&figures);
            }
            role.was_promoted
        };
        assert!(after(&[1.0, 1.0, 0.0]) && after(&[1.0, 0.0, 0.0]));
        assert!(!after(&[0.0, 0.0]) && !after(&[1.0, 1.0]) && !after(&[0.0, 1.0]));
    }

    #[test]
    fn a_server_that_is_too_old_or_a_pooler_is_named_as_the_cause_of_its_refusal() {
        let old = explained("unrecognized configuration parameter \"plan_cache_mode\"".to_owned());
        assert!(
            old.ends_with("it is older than PostgreSQL 13, or another server with its protocol"),
            "{old}"
        );
        let pooler = explained("unsupported startup parameter: options".to_owned());
        assert!(pooler.contains("a pooler stands between"), "{pooler}");
        assert_eq!(explained("no password".to_owned()), "no password");
    }
}
