//! Provisional validity for a line of the live screen.
//!
//! Does not judge the run: that happens once, at its end, over the whole record. These are signs that
//! a person can act on during the load.

use knee_core::outcome::{Blame, Fault};
use knee_core::record::Point;
use knee_core::truth::State;
use knee_core::unit::Nanos;

use super::figure;

/// Own lag at 99 % above this is suspect: it is no longer small against usual service times.
const LAG_SUSPECT: Nanos = Nanos::from_millis(1);
/// Own lag at 99 % above this is invalid, whatever the service times.
const LAG_INVALID: Nanos = Nanos::from_millis(100);
/// A worker busier than this may be late without knowing.
const CPU_SUSPECT: f64 = 0.7;
/// A worker busier than this is the bottleneck.
const CPU_INVALID: f64 = 0.9;
/// Share of requests failed by this machine above which a result is suspect, and invalid.
const OWN_FAULTS: (f64, f64) = (0.001, 0.01);

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    lag: Option<Nanos>,
    intervals: u64,
    intervals_hot: u64,
    cpu: Option<f64>,
    ended: u64,
    own_faults: u64,
}

impl Signs {
    /// Adds an interval. Those of the warm-up do not count, and neither do the faults in them.
    pub fn add(&mut self, point: &Point, faults: impl Iterator<Item = (Fault, u64)>) {
        if point.warm_up {
            return;
        }
        self.intervals += 1;
        self.lag = self.lag.max(point.own_lag_p99);
        let cpu = point.instrument.busiest();
        self.intervals_hot += u64::from(cpu.is_some_and(|cpu| cpu > CPU_INVALID));
        self.cpu = self.cpu.into_iter().chain(cpu).reduce(f64::max);
        self.ended += point.ended();
        self.own_faults += faults
            .filter(|(fault, _)| fault.blame() == Blame::Generator)
            .map(|(_, count)| count)
            .sum::<u64>();
    }

    /// The worst sign, and the words for it.
    pub fn worst(&self) -> (State, String) {
        let signs = [self.lag(), self.cpu(), self.own_faults()];
        let worst =
            signs.into_iter().flatten().reduce(|one, other| if other.0 > one.0 { other } else { one });
        worst.unwrap_or_else(|| (State::Valid, "no warnings".to_owned()))
    }

    fn lag(&self) -> Option<(State, String)> {
        let lag = self.lag.filter(|lag| *lag > LAG_SUSPECT)?;
        let state = if lag > LAG_INVALID { State::Invalid } else { State::Suspect };
        Some((state, format!("generator lag p99 up to {lag}")))
    }

    fn cpu(&self) -> Option<(State, String)> {
        let cpu = self.cpu.filter(|cpu| *cpu > CPU_SUSPECT)?;
        // A tenth of the intervals, and more than a moment.
        let often = self.intervals_hot * 10 >= self.intervals && self.intervals_hot > 1;
        let state = if often { State::Invalid } else { State::Suspect };
        Some((state, format!("a worker used up to {} of its CPU", figure::percent(cpu))))
    }

    fn own_faults(&self) -> Option<(State, String)> {
        let share = self.own_faults as f64 / self.ended.max(1) as f64;
        let state = match share {
            _ if share > OWN_FAULTS.1 => State::Invalid,
            _ if share > OWN_FAULTS.0 => State::Suspect,
            _ => return None,
        };
        Some((state, format!("{} requests failed on this machine", self.own_faults)))
    }
}

#[cfg(test)]
mod tests {
    use knee_core::truth::{InstrumentSample, WorkerSample};

    use super::*;

    fn point(cpu: f64, lag: Nanos) -> Point {
        let workers = vec![WorkerSample { cpu: 0.1, run_delay: None }, WorkerSample { cpu, run_delay: None }];
        Point {
            by_outcome: [100, 0, 0, 0, 0, 0],
            own_lag_p99: Some(lag),
            instrument: InstrumentSample { workers, ..InstrumentSample::default() },
            ..Point::default()
        }
    }

    #[test]
    fn the_worst_sign_is_shown() {
        let mut signs = Signs::default();
        assert_eq!(signs.worst().0, State::Valid);
        signs.add(&point(0.5, Nanos::from_micros(50)), [].into_iter());
        assert_eq!(signs.worst().0, State::Valid);
        signs.add(&point(0.8, Nanos::from_micros(50)), [].into_iter());
        assert_eq!(signs.worst(), (State::Suspect, "a worker used up to 80 % of its CPU".to_owned()));
        signs.add(&point(0.5, Nanos::from_millis(150)), [].into_iter());
        assert_eq!(signs.worst(), (State::Invalid, "generator lag p99 up to 150 ms".to_owned()));
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut signs = Signs::default();
        signs.add(
            &Point { warm_up: true, ..point(1.0, Nanos::from_secs(1)) },
            [(Fault::PortsExhausted, 9)].into_iter(),
        );
        assert_eq!(signs.worst().0, State::Valid);
    }

    #[test]
    fn only_faults_of_this_machine_are_a_sign() {
        let mut signs = Signs::default();
        signs.add(&point(0.5, Nanos::ZERO), [(Fault::Refused, 90)].into_iter());
        assert_eq!(signs.worst().0, State::Valid);
        signs.add(&point(0.5, Nanos::ZERO), [(Fault::PortsExhausted, 5)].into_iter());
        assert_eq!(signs.worst(), (State::Invalid, "5 requests failed on this machine".to_owned()));
    }
}
