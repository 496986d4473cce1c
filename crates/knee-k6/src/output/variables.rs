//! The environment variables of one output, which begin with its prefix; errors name the variable.
//!
//! Does not know which variables there are.

use std::time::Duration;

use crate::duration::SignedDuration;

/// Longest time that a setting can name, against typing errors.
const SPAN_MAX: Duration = Duration::from_secs(3_600);

/// Looks up environment variables by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of one output.
pub struct Variables<'a> {
    prefix: &'static str,
    env: Lookup<'a>,
}

impl<'a> Variables<'a> {
    /// The variables of `env` that begin with `prefix`.
    pub const fn new(prefix: &'static str, env: Lookup<'a>) -> Self {
        Self { prefix, env }
    }

    /// The value of a variable; `None` if it is empty or not set.
    pub fn text(&self, name: &str) -> Option<String> {
        (self.env)(&format!("{}{name}", self.prefix)).filter(|value| !value.is_empty())
    }

    /// The value of a variable, or `otherwise`.
    pub fn text_or(&self, name: &str, otherwise: &str) -> String {
        self.text(name).unwrap_or_else(|| otherwise.to_owned())
    }

    /// The value of a switch; `None` if it is not set.
    ///
    /// # Errors
    /// It is neither true nor false.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        self.text(name).map(|text| flag(&self.full(name), &text)).transpose()
    }

    /// The value of a duration, or `otherwise`.
    ///
    /// # Errors
    /// It is no duration from 1 ms to one hour.
    pub fn span(&self, name: &str, otherwise: Duration) -> Result<Duration, String> {
        self.text(name).map_or(Ok(otherwise), |text| span(&self.full(name), &text))
    }

    /// Refuses variables that have no effect here but would have one under k6.
    ///
    /// # Errors
    /// One of them is set.
    pub fn refuse(&self, names: &[&str]) -> Result<(), String> {
        match names.iter().find(|name| self.text(name).is_some()) {
            Some(name) => Err(format!("{} is not supported", self.full(name))),
            None => Ok(()),
        }
    }

    /// The whole name of a variable.
    pub fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Reads a switch that is called `name`.
///
/// # Errors
/// It is neither true nor false.
pub fn flag(name: &str, text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(format!("{name} is `{other}`, not true or false")),
    }
}

/// Reads a duration that is called `name`: as k6 writes durations, or a number of milliseconds.
///
/// # Errors
/// It is no duration from 1 ms to one hour.
pub fn span(name: &str, text: &str) -> Result<Duration, String> {
    let span = SignedDuration::parse(text)
        .map(|span| Duration::from_nanos(span.to_nanos().as_nanos()))
        .ok()
        .filter(|span| *span > Duration::ZERO && *span <= SPAN_MAX);
    span.ok_or_else(|| format!("{name} is `{text}`, not a duration from 1ms to 1h"))
}
