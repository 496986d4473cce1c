//! The table of observed resources: how long a response keeps each busy, by variant.
//!
//! Does not calculate; medians are part of the conclusion.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use knee_study::study::{Conclusion, ObservedResource};

use super::block::Table;
use super::value;
use crate::number;

/// Resources of a variant and workload that the table has, the fullest first.
const SHOWN: usize = 3;

/// The table; empty if nothing was observed.
pub fn table(conclusion: &Conclusion) -> Table {
    let columns = ["variant", "workload", "resource", "time per response", "busy", "trials"];
    let mut table = Table { columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() };
    let mut shown: BTreeMap<_, usize> = BTreeMap::new();
    for one in &conclusion.resources {
        let number = shown.entry(&one.cell).or_default();
        *number += 1;
        if *number <= SHOWN {
            table.rows.push(row(one));
        }
    }
    table
}

fn row(one: &ObservedResource) -> Vec<String> {
    vec![
        one.cell.variant.clone(),
        one.cell.workload.clone(),
        one.resource.clone(),
        Nanos::from_secs_f64(one.demand_s).to_string(),
        number::percent(one.reached),
        value::three_digits(one.n_trials as f64),
    ]
}
