//! Records of the parts of several machines: refused, because this version would take what it knows for the whole.
//!
//! A head says so in a field that is reserved. Nothing else is read here.

use super::msgpack::Values;
use super::unfit::Unfit;

/// What the head of a record says that this version cannot read.
///
/// # Errors
/// `Content` if the head is no map.
pub(super) fn of_several(head: &[u8]) -> Result<Option<&'static str>, Unfit> {
    let mut values = Values::new(head);
    for _ in 0..values.map()? {
        let what = match values.text()? {
            "fleet" => Some("a run on several machines"),
            _ => None,
        };
        // An optional value that is missing is nil.
        if values.whole()?.0 != [0xc0] && what.is_some() {
            return Ok(what);
        }
    }
    Ok(None)
}
