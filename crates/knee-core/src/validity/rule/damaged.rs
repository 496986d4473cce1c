//! A record whose bytes are not as they were written.

use super::super::diagnostics::Damage;
use super::super::{Diagnostics, Validity};
use super::rated::Rated;

/// What was found.
pub(super) struct Evidence {
    damage: Damage,
}

impl Rated for Evidence {
    const CODE: &'static str = "damaged";
    const LOOKS_AT: &'static str = "bytes of the record that changed after knee wrote them";
    const SUSPECT: &'static str = "any";
    const INVALID: &'static str = "";
    const SOURCE: &'static str = "Each frame of a record has a checksum. knee reads the frames after a damaged frame if it can find them.";
    const CAUSE: &'static str = "The file was changed or damaged after it was written, by a disk, a transfer or an editor. If intervals are missing, the warning `intervals` says how many.";
    const REMEDY: &'static str = "Restore the file from a copy, or measure again.";
    const HINT: &'static str = "restore the file from a copy, or measure again";

    fn find(diagnostics: &Diagnostics) -> Option<Self> {
        diagnostics.run.damaged.map(|damage| Self { damage })
    }

    fn validity(&self) -> Option<Validity> {
        Some(Validity::Suspect)
    }

    fn message(&self) -> String {
        let Damage { first, places } = self.damage;
        match places {
            0 | 1 => format!("the record is damaged at byte {first}"),
            _ => format!("the record is damaged in {places} places, first at byte {first}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::diagnostics::Damage;
    use super::super::testing::{SUSPECT, changed, message};

    #[test]
    fn a_damaged_record_is_suspect_and_the_message_names_the_place() {
        let damaged = |first, places| message("damaged", |d| d.run.damaged = Some(Damage { first, places }));
        assert_eq!(damaged(1_234, 1), "the record is damaged at byte 1234");
        assert_eq!(damaged(1_234, 3), "the record is damaged in 3 places, first at byte 1234");
        assert_eq!(changed("damaged", |d| d.run.damaged = None), None);
        let damage = Damage { first: 5, places: 1 };
        assert_eq!(changed("damaged", |d| d.run.damaged = Some(damage)), SUSPECT);
    }
}
