//! A warning of the validity check, as the JSON document has it.

use knee_core::validity::{self, Validity};
use serde::Serialize;

/// One warning of the validity check.
#[derive(Debug, Serialize)]
pub(super) struct Warning<'v> {
    code: &'v str,
    validity: Validity,
    message: &'v str,
    hint: &'v str,
}

impl<'v> Warning<'v> {
    pub(super) fn of(warning: &'v validity::Warning) -> Self {
        Self {
            code: &warning.code,
            validity: warning.validity,
            message: &warning.message,
            hint: &warning.hint,
        }
    }
}
