//! A load as bytes: what the controller sends, and the part of it that an agent makes.
//!
//! Everything is resolved: an agent reads no files and no environment of its own for it.

use knee_core::record::AgentOf;
use knee_fleet::policy::Extent;
use knee_fleet::wire::Part;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::settings::Surroundings;

mod script;

mod share;

mod url;

pub use script::{Before, ScriptFlags, ScriptJob};
pub use share::{idle, share};
pub use url::UrlJob;

/// The version of a job's layout.
const VERSION: u32 = 4;

/// A job.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    version: u32,
    work: Work,
}

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub enum Work {
    /// The load of a URL.
    Url(Box<UrlJob>),
    /// The load of a script.
    Script(Box<ScriptJob>),
}

impl Work {
    /// As bytes.
    ///
    /// # Errors
    ///
    /// If a path in it is no text.
    pub fn to_bytes(self) -> Result<Vec<u8>, Problem> {
        rmp_serde::to_vec_named(&Job { version: VERSION, work: self })
            .map_err(|error| Problem::new(format!("the load as a job: {error}"), ""))
    }

    /// Reads bytes.
    ///
    /// # Errors
    ///
    /// If they are no job of this version.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let hint = "use the same build of knee everywhere";
        let job: Job = rmp_serde::from_slice(bytes)
            .map_err(|error| Problem::new(format!("the job cannot be read: {error}"), hint))?;
        if job.version != VERSION {
            return Err(Problem::new(format!("the job has version {} of its layout", job.version), hint));
        }
        Ok(job.work)
    }

    /// What a part of it would load, for the ceilings of an agent.
    ///
    /// # Errors
    ///
    /// If the part is none, has nothing to do, or a name does not resolve.
    pub fn extent(self, part: &Part) -> Result<Extent, Problem> {
        match self {
            Self::Url(job) => {
                let nobody = AgentOf { name: String::new(), run: String::new() };
                let load = job.part(part, nobody, std::path::PathBuf::new(), &Surroundings::read())?;
                Ok(url::extent(&load))
            }
            Self::Script(job) => job.extent(part),
        }
    }
}
