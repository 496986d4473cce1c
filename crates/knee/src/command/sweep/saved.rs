//! Where the steps of a sweep are saved, and the earlier sweep that `--resume` means.
//!
//! Does not read or write steps; the driver does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use knee_driver::lock::{self, Lock};
use knee_driver::saved_steps::{Design, SavedSteps};
use knee_study::sweep::Config;

use crate::args::{ServiceHostFlag, SweepArgs, SweptStudyFlags};
use crate::command::failed::{Failed, driver_failed, refused};
use crate::problem::{Problem, on_one_line};
use crate::settings::fleet::Remote;
use crate::store::{self, Kind, Store};

/// Saved steps, and the lock that keeps another process from adding to them.
pub struct Saved {
    /// The steps.
    pub steps: SavedSteps,
    _lock: Lock,
}

/// Refuses a sweep that is to go on where none is saved.
///
/// # Errors
///
/// When there is nothing to go on with.
pub fn check(args: &SweepArgs, config: &Config, (title, declared): (&str, &str)) -> Result<(), Failed> {
    if !args.output.resume {
        return Ok(());
    }
    let design = Design::of(title, config, requests(args, declared));
    let found = Store::of_process().and_then(|store| earlier(&store, &design));
    found.map(drop).ok_or_else(|| refused(none(title)))
}

/// The steps of the sweep that goes on, or the place for those of a new one; `None` if nothing can be saved. `declared`
/// decides about the service and its load besides the flags.
///
/// # Errors
///
/// When there is nothing to go on with, or when another process goes on with it.
pub fn open(
    args: &SweepArgs,
    config: &Config,
    (title, declared): (&str, &str),
    narrate: fn(&str),
) -> Result<Option<Saved>, Failed> {
    let design = Design::of(title, config, requests(args, declared));
    let store = Store::of_process();
    if args.output.resume {
        let folder = store.and_then(|store| earlier(&store, &design)).ok_or_else(|| refused(none(title)))?;
        store::continue_series(&folder);
        let lock = lock(&folder).map_err(driver_failed)?;
        let steps = SavedSteps::resume(&folder).map_err(driver_failed)?;
        if !args.output.quiet {
            narrate(&format!("resumed: steps already saved: {}", steps.count()));
        }
        return Ok(Some(Saved { steps, _lock: lock }));
    }
    let Some(store) = store.map(|store| store.of_kind(Kind::Trial)) else { return Ok(None) };
    let begun = SavedSteps::begin(store.folder(), &design)
        .and_then(|steps| Ok(Saved { steps, _lock: lock(store.folder())? }));
    match begun {
        Ok(saved) => Ok(Some(saved)),
        Err(error) => {
            narrate(&format!("warning: the steps are not saved: {}", on_one_line(&error.to_string())));
            Ok(None)
        }
    }
}

fn lock(folder: &Path) -> Result<Lock, knee_driver::Error> {
    lock::take(&folder.join("lock"), "another `knee sweep` goes on with this sweep")
}

/// The newest sweep of this design.
fn earlier(store: &Store, design: &Design) -> Option<PathBuf> {
    let series = store.series().ok()?;
    series.into_iter().map(|one| one.folder().to_owned()).find(|folder| SavedSteps::is_of(folder, design))
}

fn none(title: &str) -> Problem {
    Problem::new(
        format!("no sweep of `{}` with these flags is saved, for `--resume`", on_one_line(title)),
        "give the flags of the earlier sweep, with the study as it was then, or leave out `--resume`",
    )
}

/// A number that stands for the requests and how they are sent. The text itself can contain credentials.
fn requests(args: &SweepArgs, declared: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let SweepArgs { target, ladder, request, connection, script, modules, .. } = args;
    format!("{target:?} {ladder:?} {request:?} {connection:?} {script:?} {modules:?}").hash(&mut hasher);
    if args.study != SweptStudyFlags::default() {
        format!("{:?}", args.study).hash(&mut hasher);
    }
    if !declared.is_empty() {
        declared.hash(&mut hasher);
    }
    let fleet = Remote::words(&args.fleet, &ServiceHostFlag::default());
    if !fleet.is_empty() {
        fleet.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_of_a_study_goes_on_only_with_the_variant_the_workload_and_the_study_that_it_had() {
        let of = |variant: &str, workload: &str, declared: &str| {
            let study = SweptStudyFlags {
                variant: Some(variant.to_owned()),
                workload: Some(workload.to_owned()),
                share_cpus: false,
            };
            let mut args = SweepArgs::default();
            (args.target, args.study) = (Some("labs/todos/newest".to_owned()), study);
            requests(&args, declared)
        };
        let begun = of("stock", "list", "GET /");
        assert_eq!(begun, of("stock", "list", "GET /"));
        for other in [of("best", "list", "GET /"), of("stock", "add", "GET /"), of("stock", "list", "GET /a")]
        {
            assert_ne!(begun, other);
        }
    }
}
