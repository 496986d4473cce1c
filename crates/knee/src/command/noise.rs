//! The noise floor of this machine, from where `knee calibrate` saved it.
//!
//! Does not measure it.

use knee_core::clock;
use knee_driver::calibration::{CalibrationStore, Known};
use knee_engine::host;
use knee_study::study::Calibration;

use crate::problem::on_one_line;
use crate::store;

/// Where calibrations are saved; `None` when the environment names no home.
pub fn saved() -> Option<CalibrationStore> {
    Some(CalibrationStore::below(&store::home(|name| std::env::var_os(name))?))
}

/// The noise floor of this machine, if there is a valid one; reports why a saved one is ignored.
pub fn of_this_machine(narrate: fn(&str)) -> Option<Calibration> {
    match saved()?.look(&host::machine(), clock::wall()) {
        Known::Holds(saved) => Some(saved.calibration),
        Known::Ignored(why) => {
            let why = on_one_line(&why);
            narrate(&format!("note: the saved noise floor is ignored: {why}; run `knee calibrate` again"));
            None
        }
        Known::Never => None,
    }
}
