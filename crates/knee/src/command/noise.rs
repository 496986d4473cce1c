//! The noise floor of this machine, from where `knee calibrate` saved it.
//!
//! Does not measure it.

use jiff::Timestamp;
use knee_core::clock;
use knee_core::unit::Nanos;
use knee_driver::calibration::{CalibrationStore, Known};
use knee_engine::host;
use knee_study::study::Calibration;

use crate::problem::on_one_line;
use crate::store;

/// Where calibrations are saved; `None` when the environment names no home.
pub fn saved() -> Option<CalibrationStore> {
    Some(CalibrationStore::below(&store::home(|name| std::env::var_os(name))?))
}

/// The state of this machine's noise floor.
pub fn known() -> Known {
    saved().map_or(Known::Never, |store| store.look(&host::machine(), clock::wall()))
}

/// The day of a wall-clock time, in UTC.
pub fn day(time: Nanos) -> String {
    let time = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%d").to_string()
}

/// The noise floor of this machine, if there is a valid one; reports why a saved one is ignored.
pub fn of_this_machine(narrate: fn(&str)) -> Option<Calibration> {
    match known() {
        Known::Holds(saved) => Some(saved.calibration),
        Known::Ignored(why) => {
            let why = on_one_line(&why);
            narrate(&format!("note: the saved noise floor is ignored: {why}; run `knee calibrate` again"));
            None
        }
        Known::Never => None,
    }
}
