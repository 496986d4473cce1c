//! One comparison of a measurement with the truth, and how comparisons are shown.
//!
//! Does not measure.

use serde::Serialize;

/// How far a measurement can be off.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A share of the truth.
    Share(f64),
    /// A share of the truth or so many milliseconds, whichever is more.
    ShareOr(f64, f64),
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which oracle.
    pub oracle: &'static str,
    /// What was measured, with the load under which it was.
    pub figure: String,
    /// What is true.
    pub truth: String,
    /// What `knee` says.
    pub measured: String,
    /// How far that is off, or what else explains it.
    pub error: String,
    /// The same as a share of the truth, where both are numbers.
    pub error_share: Option<f64>,
    /// The validity that `knee` reports for that result: a deviation with a warning is not a false statement.
    pub verdict: String,
    /// Whether that is near enough; absent where the row only informs.
    pub pass: Option<bool>,
}

impl Row {
    /// Two times in milliseconds.
    pub fn times(oracle: &'static str, figure: String, truth: f64, measured: f64, limit: Limit) -> Self {
        let off = measured - truth;
        let share = off / truth;
        let allowed = match limit {
            Limit::Share(share) => share * truth,
            Limit::ShareOr(share, least) => (share * truth).max(least),
        };
        Self {
            oracle,
            figure,
            truth: millis(truth),
            measured: millis(measured),
            error: format!("{} ({:+.2} %), at most {}", signed(off), share * 100.0, millis(allowed)),
            error_share: Some(share),
            verdict: String::new(),
            pass: Some(off.abs() <= allowed),
        }
    }

    /// Anything that holds or does not.
    pub fn fact(
        oracle: &'static str,
        figure: impl Into<String>,
        truth: impl Into<String>,
        measured: impl Into<String>,
        pass: bool,
    ) -> Self {
        let (figure, truth, measured) = (figure.into(), truth.into(), measured.into());
        let error = String::new();
        let verdict = String::new();
        Self { oracle, figure, truth, measured, error, error_share: None, verdict, pass: Some(pass) }
    }

    /// The same with the validity that `knee` reported.
    pub fn under(self, verdict: impl Into<String>) -> Self {
        Self { verdict: verdict.into(), ..self }
    }

    /// Something worth knowing that nothing is expected of.
    pub fn note(oracle: &'static str, figure: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { pass: None, ..Self::fact(oracle, figure, "", measured, true) }
    }
}

/// Milliseconds in a unit that shows three digits.
pub fn millis(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => format!("{:.3} s", value / 1_000.0),
        size if size >= 1.0 => format!("{value:.2} ms"),
        _ => format!("{:.1} us", value * 1_000.0),
    }
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "" } else { "+" };
    format!("{sign}{}", millis(value))
}

/// A Markdown table of all rows.
pub fn table(rows: &[Row]) -> String {
    let head =
        "| oracle | figure | truth | measured | error | validity | pass |\n|---|---|---|---|---|---|---|\n";
    let line = |row: &Row| {
        let pass = match row.pass {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "",
        };
        let Row { oracle, figure, truth, measured, error, verdict, .. } = row;
        format!("| {oracle} | {figure} | {truth} | {measured} | {error} | {verdict} | {pass} |\n")
    };
    head.to_owned() + &rows.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(truth: f64, measured: f64, limit: Limit) -> Option<bool> {
        Row::times("x", String::new(), truth, measured, limit).pass
    }

    #[test]
    fn a_time_passes_up_to_its_limit_on_either_side() {
        assert_eq!(passes(100.0, 101.9, Limit::Share(0.02)), Some(true));
        assert_eq!(passes(100.0, 97.9, Limit::Share(0.02)), Some(false));
        assert_eq!(passes(0.2, 0.249, Limit::ShareOr(0.01, 0.05)), Some(true));
        assert_eq!(passes(0.2, 0.251, Limit::ShareOr(0.01, 0.05)), Some(false));
        assert_eq!(passes(100.0, 100.9, Limit::ShareOr(0.01, 0.05)), Some(true));
    }

    #[test]
    fn a_figure_that_is_none_does_not_pass() {
        assert_eq!(passes(1.0, f64::NAN, Limit::Share(0.5)), Some(false));
    }

    #[test]
    fn times_are_shown_in_a_unit_that_fits() {
        assert_eq!([0.0123, 4.5, 5_400.0].map(millis), ["12.3 us", "4.50 ms", "5.400 s"]);
    }
}
