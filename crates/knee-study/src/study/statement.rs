//! What a trial measured of one statement of a database, as figures that a claim can be about.
//!
//! Does not compare. A statement that was not executed has no time.

use std::collections::BTreeMap;

use super::Figure;
use super::trial::{Measured, OfStatement};
use crate::metric::Metric;

impl Measured {
    /// What it measured of one statement, with the validity of the whole trial. `None` if it did not count it.
    pub(super) fn of_statement(&self, name: &str) -> Option<Self> {
        self.statements.get(name).map(|statement| self.part(figures(statement), self.requests))
    }

    /// Whether it counted executions of a statement; `None` if it did not count.
    pub(super) fn executed(&self, name: &str) -> Option<bool> {
        self.statements.get(name).map(|statement| statement.calls > 0)
    }
}

fn figures(statement: &OfStatement) -> BTreeMap<Metric, Figure> {
    let (calls, nanos) = (statement.calls as f64, statement.time.as_nanos() as f64);
    let mut figures = BTreeMap::new();
    if statement.calls > 0 {
        figures.insert(Metric::StatementTime, Figure::from(nanos / calls));
    }
    if statement.requests > 0.0 {
        figures.insert(Metric::StatementCallsPerRequest, Figure::from(calls / statement.requests));
        figures.insert(Metric::StatementTimePerRequest, Figure::from(nanos / statement.requests));
    }
    figures
}

#[cfg(test)]
mod tests {
    use knee_core::unit::Nanos;

    use super::*;

    #[test]
    fn times_are_those_of_a_call_and_of_a_request_and_without_a_call_there_is_none() {
        let statement = OfStatement { calls: 40, time: Nanos::from_millis(200), requests: 10.0 };
        let expected = [
            (Metric::StatementTime, Figure::from(5e6)),
            (Metric::StatementCallsPerRequest, Figure::from(4.0)),
            (Metric::StatementTimePerRequest, Figure::from(20e6)),
        ];
        assert_eq!(figures(&statement), expected.into());
        let idle = figures(&OfStatement { calls: 0, time: Nanos::ZERO, ..statement });
        assert_eq!(idle.get(&Metric::StatementTime), None);
        assert_eq!(idle[&Metric::StatementCallsPerRequest], Figure::from(0.0));
        assert_eq!(figures(&OfStatement { requests: 0.0, ..statement }).len(), 1);
    }
}
