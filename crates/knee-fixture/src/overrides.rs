//! The changes of a declaration by a variant of a study.
//!
//! Data only; [`crate::Fixture::start`] applies it.

use std::collections::BTreeMap;

use knee_core::fixture::Setting;
use serde::{Deserialize, Serialize};

/// Changes of one variant to the declaration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// Variables on top of the declared ones; placeholders are filled in.
    pub env: BTreeMap<String, String>,
    /// Arguments after those of the command.
    pub args: Vec<String>,
    /// The command, instead of the declared one.
    pub command: Option<Vec<String>>,
    /// A revision of the study's repository, built and run in a checkout of its own.
    pub revision: Option<String>,
    /// Statements for PostgreSQL clusters, by their names. They are part of the seeded data of the service.
    pub sql: BTreeMap<String, Vec<String>>,
    /// Settings of PostgreSQL clusters, by their names, on top of the declared ones.
    pub postgres: BTreeMap<String, BTreeMap<String, Setting>>,
    /// Directives of Redis servers, by their names, on top of the declared ones.
    pub redis: BTreeMap<String, BTreeMap<String, Setting>>,
}
