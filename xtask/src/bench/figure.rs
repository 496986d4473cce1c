//! A figure with its goal, and tables of them.
//!
//! Does not measure.

use serde::Serialize;

/// One line of the table of goals.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What.
    pub name: String,
    /// What it should be.
    pub goal: String,
    /// What it is.
    pub measured: String,
    /// Whether that is good enough.
    pub met: bool,
    /// The bare numbers.
    pub values: Vec<f64>,
}

/// A Markdown table with the cells of `rows` below `head`.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(&head) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// The table of goals.
pub fn goals(figures: &[Figure]) -> String {
    let row = |figure: &Figure| {
        let met = if figure.met { "yes" } else { "**no**" };
        vec![figure.name.clone(), figure.goal.clone(), figure.measured.clone(), met.to_owned()]
    };
    table(&["figure", "goal", "measured", "met"], &figures.iter().map(row).collect::<Vec<_>>())
}

/// The middle of `values`, the mean of the two middle ones if their number is even; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        for (values, middle) in [(&[3.0, 1.0, 2.0][..], 2.0), (&[4.0, 1.0, 3.0, 2.0], 2.5)] {
            assert!((median(values) - middle).abs() < 1e-12, "{values:?}");
        }
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_table_has_a_rule_below_its_head() {
        let rows = [vec!["1".to_owned(), "2".to_owned()]];
        assert_eq!(table(&["a", "b"], &rows), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
