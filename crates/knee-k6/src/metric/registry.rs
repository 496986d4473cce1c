//! The metrics of a run while scripts are loaded: every VU declares the same ones, in any order.
//!
//! Does not hold samples. A metric keeps its number for good, so meters made at different times agree.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::catalog::{Catalog, DeclareError, MetricId};
use super::key::Key;
use super::{Contains, Kind};

/// A catalogue that several threads add to.
#[derive(Debug, Default)]
pub struct Registry {
    catalog: Mutex<Catalog>,
}

impl Registry {
    /// Declares a metric; see [`Catalog::declare`].
    pub fn declare(&self, name: &str, kind: Kind, contains: Contains) -> Result<MetricId, DeclareError> {
        self.lock().declare(name, kind, contains)
    }

    /// Keeps the samples that match `key` apart; see [`Catalog::keep_apart`].
    pub fn keep_apart(&self, key: &Key) {
        self.lock().keep_apart(key);
    }

    /// Leaves out the sub-metric that k6 always shows; see [`Catalog::leave_out_expected`].
    pub fn leave_out_expected(&self) {
        self.lock().leave_out_expected();
    }

    /// The name of a metric; `id` must come from here.
    pub fn name(&self, id: MetricId) -> String {
        self.lock().metric(id).name.clone()
    }

    /// The metrics as they are now.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::new(self.lock().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Catalog> {
        // A metric is added by one statement, so the catalogue is whole after any panic.
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_declared_by_every_vu_is_one_metric() {
        let registry = Registry::default();
        let before = registry.catalog();
        let first = registry.declare("orders", Kind::Counter, Contains::Default).unwrap();
        assert_eq!(registry.declare("orders", Kind::Counter, Contains::Default), Ok(first));
        assert_eq!(registry.name(first), "orders");
        assert_eq!(
            (before.len() + 1, registry.catalog().find("orders")),
            (registry.catalog().len(), Some(first))
        );
    }
}
