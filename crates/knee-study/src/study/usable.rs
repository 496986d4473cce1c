//! The usable measurements by block, variant and workload, and the lost ones with their reasons.
//!
//! Does not compare.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Figure, Measured, Study, TrialResult};
use crate::definition::Cell;
use crate::metric::Metric;
use crate::statistics::location;

/// A block in which a variant has no usable trial of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBlock {
    /// The block, from 0.
    pub block: usize,
    /// Variant and workload.
    pub cell: Cell,
    /// Result of the last attempt.
    pub why: String,
}

/// Usable trials of a study, by block and cell. The endpoints and statements that claims name have cells of their own.
pub(super) struct UsableTrials<'a> {
    usable: BTreeMap<(usize, Cell), Cow<'a, Measured>>,
    /// Blocks that were tried and have no usable trial.
    pub lost: Vec<LostBlock>,
}

impl<'a> UsableTrials<'a> {
    pub(super) fn of(study: &'a Study) -> Self {
        let mut usable = BTreeMap::new();
        let mut failed = BTreeMap::new();
        for entry in &study.entries {
            let trial = &entry.trial;
            let key = (trial.block, Cell::new(&trial.variant, &trial.workload));
            match entry.usable() {
                Some(measured) => drop(usable.insert(key, Cow::Borrowed(measured))),
                None => drop(failed.insert(key, why(&entry.result))),
            }
        }
        failed.retain(|key, _| !usable.contains_key(key));
        let lost = failed.into_iter().map(|((block, cell), why)| LostBlock { block, cell, why }).collect();
        let mut all = Self { usable, lost };
        for cell in parts(study) {
            all.add(cell);
        }
        all
    }

    /// Adds what the trials of a cell measured of its endpoint or its statement.
    fn add(&mut self, cell: &Cell) {
        let whole = cell.whole();
        let here = self.usable.iter().filter(|((_, position), _)| *position == whole);
        let found: Vec<(usize, Measured)> =
            here.filter_map(|((block, _), measured)| Some((*block, of(measured, cell)?))).collect();
        self.usable.extend(found.into_iter().map(|(block, of)| ((block, cell.clone()), Cow::Owned(of))));
    }

    /// One figure of one block.
    pub(super) fn figure(&self, block: usize, cell: &Cell, metric: Metric) -> Option<Figure> {
        self.usable.get(&(block, cell.clone()))?.figures.get(&metric).copied()
    }

    /// The trial of a cell in one block.
    pub(super) fn trial(&self, block: usize, cell: &Cell) -> Option<&Measured> {
        self.usable.get(&(block, cell.clone())).map(|measured| &**measured)
    }

    /// A metric of a cell in every block that has it, in the order of the blocks.
    pub(super) fn figures(&self, cell: &Cell, metric: Metric) -> Vec<(usize, Figure)> {
        let here = self.usable.iter().filter(|((_, position), _)| position == cell);
        here.filter_map(|((block, _), measured)| Some((*block, *measured.figures.get(&metric)?))).collect()
    }

    /// Median, minimum and maximum figure of a cell, and whether any of them is a lower bound.
    pub(super) fn spread(&self, cell: &Cell, metric: Metric) -> Option<Spread> {
        let figures = self.figures(cell, metric);
        let values: Vec<f64> = figures.iter().map(|(_, figure)| figure.value).collect();
        let (low, high) = location::range(&values)?;
        let at_least = figures.iter().any(|(_, figure)| figure.at_least);
        Some(Spread { n_blocks: values.len(), median: location::median(&values), low, high, at_least })
    }

    /// Usable trials of a cell, in the order of the blocks.
    pub(super) fn of_cell(&self, cell: &Cell) -> impl Iterator<Item = &Measured> {
        self.usable.iter().filter(move |((_, position), _)| position == cell).map(|(_, measured)| &**measured)
    }

    /// Blocks that have a usable trial of a cell.
    pub(super) fn blocks(&self, cell: &Cell) -> Vec<usize> {
        self.usable.keys().filter(|(_, position)| position == cell).map(|(block, _)| *block).collect()
    }
}

/// The cells of claims that have one endpoint or one statement.
fn parts(study: &Study) -> BTreeSet<&Cell> {
    let cells = study.definition.claims.iter().flat_map(|claim| claim.test.cells());
    cells.filter(|cell| cell.is_part()).collect()
}

/// What a trial measured of the endpoint or the statement of a cell.
fn of(measured: &Measured, cell: &Cell) -> Option<Measured> {
    match (&cell.statement, &cell.endpoint) {
        (Some(name), _) => measured.of_statement(name),
        (None, Some(name)) => measured.of_endpoint(name),
        (None, None) => None,
    }
}

/// The values of a metric in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Blocks that have it; 1 or more.
    pub n_blocks: usize,
    /// Median of the blocks.
    pub median: f64,
    /// The least of the blocks.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// Whether the figure of any block is a lower bound.
    pub at_least: bool,
}

/// Why a trial cannot be used.
pub(super) fn why(result: &TrialResult) -> String {
    match result {
        TrialResult::Measured(measured) if measured.warnings.is_empty() => {
            "the measurement is invalid".to_owned()
        }
        TrialResult::Measured(measured) => measured.messages(),
        TrialResult::Died { reason } => format!("the service died: {}", one_line(reason)),
        TrialResult::NeverReady { reason } => {
            format!("the service did not become ready: {}", one_line(reason))
        }
    }
}

/// The lines of a service's output joined to one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
