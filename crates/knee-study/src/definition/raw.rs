//! `study.toml` as written, with the position of everything that can be wrong.
//!
//! Does not know what the names refer to; see [`super::resolve`].

use std::collections::BTreeMap;

use knee_core::fixture;
use serde::Deserialize;
use toml::Spanned;

/// A name or text with its place.
pub(super) type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub title: Text,
    pub question: Option<String>,
    pub source: Option<String>,
    #[serde(default)]
    pub claims_in: Vec<String>,
    #[serde(default)]
    pub service: BTreeMap<String, fixture::Service>,
    #[serde(default)]
    pub postgres: BTreeMap<String, fixture::Postgres>,
    #[serde(default)]
    pub redis: BTreeMap<String, fixture::Redis>,
    #[serde(default)]
    pub generator: fixture::Generator,
    #[serde(default)]
    pub switches: BTreeMap<Text, Switch>,
    #[serde(default)]
    pub statements: BTreeMap<Text, Statement>,
    pub variants: BTreeMap<Text, Variant>,
    pub workloads: BTreeMap<Text, Workload>,
    pub design: Spanned<Design>,
    #[serde(default)]
    pub claims: BTreeMap<Text, Claim>,
    #[serde(default)]
    pub published: Vec<Published>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switch {
    pub text: Option<String>,
    pub default: Spanned<fixture::Setting>,
    pub values: Option<Vec<fixture::Setting>>,
    pub env: Option<Text>,
    pub argument: Option<Text>,
    pub service: Option<Text>,
    pub affects: Option<Vec<Text>>,
    #[serde(default)]
    pub remedies: BTreeMap<Text, Spanned<fixture::Setting>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    pub text: Option<String>,
    pub postgres: Option<Text>,
    pub like: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    pub text: Option<String>,
    pub extends: Option<Text>,
    #[serde(default)]
    pub switches: BTreeMap<Text, Spanned<fixture::Setting>>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub command: Option<Spanned<Vec<String>>>,
    pub revision: Option<Text>,
    #[serde(default)]
    pub sql: BTreeMap<Text, Spanned<Vec<String>>>,
    #[serde(default)]
    pub settings: BTreeMap<Text, BTreeMap<String, fixture::Setting>>,
    pub service: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    pub text: Option<String>,
    pub service: Option<Text>,
    pub path: Option<Text>,
    pub method: Option<Text>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    pub connections: Option<Spanned<i64>>,
    pub arrival_rate: Option<Spanned<f64>>,
    pub arrivals: Option<super::Arrivals>,
    pub timeout: Option<Text>,
    pub stream: Option<Spanned<bool>>,
    pub until: Option<Text>,
    pub measure: Option<Text>,
    pub script: Option<Text>,
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    pub reset: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Design {
    pub kind: super::DesignKind,
    pub order: Option<Vec<Text>>,
    pub baseline: Option<Text>,
    pub best: Option<Text>,
    pub pairs: Option<Spanned<Vec<Spanned<Vec<Text>>>>>,
    pub growth: Option<Spanned<Growth>>,
    pub blocks: Option<Spanned<i64>>,
    pub quick: Option<Vec<Text>>,
    pub restart_every: Option<Spanned<i64>>,
    pub warm_up: Option<Text>,
    pub settle: Option<Text>,
    pub measure: Option<Text>,
    pub seed: Option<u64>,
    pub margin: Option<Spanned<fixture::Setting>>,
    #[serde(default)]
    pub margins: BTreeMap<Text, Spanned<fixture::Setting>>,
    pub metrics: Option<Spanned<Vec<Text>>>,
    pub extend: Option<bool>,
    pub aa: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Growth {
    pub switch: Text,
    pub sizes: Spanned<Vec<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pub text: Text,
    pub untestable: Option<String>,
    pub workload: Option<Text>,
    pub metric: Option<Text>,
    pub variant: Option<Text>,
    pub against: Option<Text>,
    pub against_workload: Option<Text>,
    pub endpoint: Option<Text>,
    pub against_endpoint: Option<Text>,
    pub statement: Option<Text>,
    pub against_statement: Option<Text>,
    pub expect: Option<super::Expectation>,
    pub at_least: Option<Text>,
    pub change: Option<Text>,
    pub within: Option<Spanned<fixture::Setting>>,
    pub testable: Option<Text>,
    pub goal: Option<bool>,
    pub published: Option<Text>,
    pub like_for_like: Option<Text>,
    pub below: Option<Spanned<fixture::Setting>>,
    pub above: Option<Spanned<fixture::Setting>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub variant: Text,
    pub workload: Text,
    pub source: Option<String>,
    pub figures: BTreeMap<Text, Spanned<fixture::Setting>>,
}
