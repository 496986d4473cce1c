//! Provisional validity for a line of the live screen.
//!
//! Does not judge the run: that happens once, at its end, over the whole record. These are signs that
//! a person can act on during the load.

use knee_core::outcome::{Blame, Fault};
use knee_core::record::Point;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;

use super::figure;
use knee_report::number;

/// Generator lag at 99 % above this is suspect: it is no longer small against usual service times.
const LAG_SUSPECT: Nanos = Nanos::from_millis(1);
/// Generator lag at 99 % above this is invalid, whatever the service times.
const LAG_INVALID: Nanos = Nanos::from_millis(100);
/// Shares of the intervals with a worker that busy, from which on the result is suspect, and invalid.
const HOT: (f64, f64) = (0.1, 0.5);
/// A worker busier than this is the bottleneck.
const CPU_FULL: f64 = 0.9;
/// Share of the scheduled requests that wait for a connection above which a result is suspect.
const WAITING: f64 = 0.005;
/// What is scheduled in this time, in seconds, can wait at any moment.
const MOMENT: f64 = 0.05;
/// Share of requests failed by this machine above which a result is suspect, and invalid.
const OWN_FAULTS: (f64, f64) = (0.001, 0.01);

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    lag: Option<Nanos>,
    intervals: u64,
    intervals_hot: u64,
    ended: u64,
    own_faults: u64,
    /// Requests that came due, and the seconds in which they did.
    scheduled: u64,
    seconds: f64,
    waiting: u64,
}

impl Signs {
    /// Adds an interval. Those of the warm-up do not count, and neither do the faults in them.
    pub fn add(&mut self, point: &Point, faults: impl Iterator<Item = (Fault, u64)>) {
        if point.warm_up {
            return;
        }
        self.intervals += 1;
        // Only as far as it is much of what was measured.
        let quarter = point.response.map_or(0, |[_, _, p99, _]| p99.0 / 4);
        self.lag = self.lag.max(point.generator_lag_p99.filter(|lag| lag.0 > quarter));
        self.intervals_hot += u64::from(point.generator.worker_cpu.is_some_and(|cpu| cpu > CPU_FULL));
        self.ended += point.ended();
        self.scheduled += point.planned;
        self.seconds += point.to.since(point.from).as_secs_f64();
        // The queue drains once nothing more is scheduled, and the load was an overload all the same.
        if point.planned > 0 {
            self.waiting = point.backlog;
        }
        self.own_faults += faults
            .filter(|(fault, _)| fault.blame() == Blame::Generator)
            .map(|(_, count)| count)
            .sum::<u64>();
    }

    /// The worst sign, and the words for it.
    pub fn worst(&self) -> (Validity, String) {
        let signs = [self.lag(), self.cpu(), self.own_faults(), self.waiting()];
        let worst =
            signs.into_iter().flatten().reduce(|one, other| if other.0 > one.0 { other } else { one });
        worst.unwrap_or_else(|| (Validity::Valid, "no warnings".to_owned()))
    }

    fn lag(&self) -> Option<(Validity, String)> {
        let lag = self.lag.filter(|lag| *lag > LAG_SUSPECT)?;
        let state = if lag > LAG_INVALID { Validity::Invalid } else { Validity::Suspect };
        Some((state, format!("generator lag p99 up to {lag}")))
    }

    fn cpu(&self) -> Option<(Validity, String)> {
        // A moment is none, however busy.
        let share = self.intervals_hot as f64 / self.intervals.max(1) as f64;
        let state = match share {
            _ if self.intervals_hot < 2 => return None,
            _ if share > HOT.1 => Validity::Invalid,
            _ if share > HOT.0 => Validity::Suspect,
            _ => return None,
        };
        Some((state, format!("a worker used over 90 % CPU for {} of the time", figure::percent(share))))
    }

    /// As the rule `rate` will, as far as the load has come.
    fn waiting(&self) -> Option<(Validity, String)> {
        let (waiting, scheduled) = (self.waiting as f64, self.scheduled.max(1) as f64);
        let moment = scheduled / self.seconds.max(f64::MIN_POSITIVE) * MOMENT;
        let much = waiting > WAITING * scheduled && waiting > moment;
        let words = || {
            format!("overloaded: {} scheduled requests wait for a connection", number::count(self.waiting))
        };
        much.then(|| (Validity::Suspect, words()))
    }

    fn own_faults(&self) -> Option<(Validity, String)> {
        let share = self.own_faults as f64 / self.ended.max(1) as f64;
        let state = match share {
            _ if share > OWN_FAULTS.1 => Validity::Invalid,
            _ if share > OWN_FAULTS.0 => Validity::Suspect,
            _ => return None,
        };
        Some((state, format!("{} failed on this machine", number::counted(self.own_faults, "request"))))
    }
}

#[cfg(test)]
mod tests {
    use knee_core::record::GeneratorPoint;

    use super::*;

    fn point(cpu: f64, lag: Nanos) -> Point {
        Point {
            by_outcome: [100, 0, 0, 0, 0, 0],
            generator_lag_p99: Some(lag),
            generator: GeneratorPoint { workers: 2, worker_cpu: Some(cpu), ..GeneratorPoint::default() },
            ..Point::default()
        }
    }

    #[test]
    fn the_worst_sign_is_shown() {
        let mut signs = Signs::default();
        assert_eq!(signs.worst().0, Validity::Valid);
        signs.add(&point(0.5, Nanos::from_micros(50)), [].into_iter());
        assert_eq!(signs.worst().0, Validity::Valid);
        (0..4).for_each(|_| signs.add(&point(0.95, Nanos::from_micros(50)), [].into_iter()));
        (0..3).for_each(|_| signs.add(&point(0.5, Nanos::from_micros(50)), [].into_iter()));
        let told = "a worker used over 90 % CPU for 50 % of the time";
        assert_eq!(signs.worst(), (Validity::Suspect, told.to_owned()));
        signs.add(&point(0.5, Nanos::from_millis(150)), [].into_iter());
        assert_eq!(signs.worst(), (Validity::Invalid, "generator lag p99 up to 150 ms".to_owned()));
    }

    #[test]
    fn requests_that_queue_up_before_the_connections_are_a_sign_while_the_load_runs() {
        let second =
            |planned, backlog| Point { planned, backlog, to: Nanos::from_secs(1), ..Point::default() };
        let mut signs = Signs::default();
        signs.add(&second(4_000, 190), [].into_iter());
        assert_eq!(signs.worst().0, Validity::Valid, "a moment is no overload");
        signs.add(&second(4_000, 1_830), [].into_iter());
        let told = "overloaded: 1,830 scheduled requests wait for a connection";
        assert_eq!(signs.worst(), (Validity::Suspect, told.to_owned()));
        signs.add(&second(0, 0), [].into_iter());
        assert_eq!(signs.worst().0, Validity::Suspect, "an overload stays one when the load has ended");
        signs.add(&second(4_000, 0), [].into_iter());
        assert_eq!(signs.worst().0, Validity::Valid, "the queue is gone");
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut signs = Signs::default();
        signs.add(
            &Point { warm_up: true, ..point(1.0, Nanos::from_secs(1)) },
            [(Fault::PortsExhausted, 9)].into_iter(),
        );
        assert_eq!(signs.worst().0, Validity::Valid);
    }

    #[test]
    fn only_faults_of_this_machine_are_a_sign() {
        let mut signs = Signs::default();
        signs.add(&point(0.5, Nanos::ZERO), [(Fault::Refused, 90)].into_iter());
        assert_eq!(signs.worst().0, Validity::Valid);
        signs.add(&point(0.5, Nanos::ZERO), [(Fault::PortsExhausted, 5)].into_iter());
        assert_eq!(signs.worst(), (Validity::Invalid, "5 requests failed on this machine".to_owned()));
    }
}
