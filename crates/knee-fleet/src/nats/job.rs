//! Jobs in NATS: put there by a controller, fetched by agents, and by a controller that takes a run over.
//!
//! Does not read them.

use async_nats::jetstream::{self, object_store};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;

use super::{JOB_MAX, KEPT, LinkError, server};
use crate::name::RunId;
use crate::signature::{Signed, Signer, is_valid};
use crate::wire::Digest;

/// The bucket of jobs.
const JOBS: &str = "knee_jobs";

/// The job of a run while its load is made, for a controller that takes the run over. It is signed: that controller runs the
/// end of a script, so it must not be another one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptJob {
    digest: Digest,
    key: String,
    signature: String,
}

impl KeptJob {
    /// The job with this digest is that of the run; `None` never happens, see [`Signer::sign`].
    pub(super) fn sign(signer: &Signer, run: &RunId, digest: &Digest) -> Option<Self> {
        let Signed { key, signature } = signer.sign(&statement(run, digest))?;
        Some(Self { digest: digest.clone(), key, signature })
    }

    /// Whether the owner of this key signed it for this run.
    pub(super) fn is_by(&self, signer: &Signer, run: &RunId) -> bool {
        let found = Signed { key: self.key.clone(), signature: self.signature.clone() };
        self.key == signer.public() && is_valid(&statement(run, &self.digest), &found)
    }

    /// What its bytes must have.
    pub(super) const fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// What is signed. No order begins like this, so that neither stands for the other.
fn statement(run: &RunId, digest: &Digest) -> Vec<u8> {
    format!("the job of the run {run} is {}", digest.0).into_bytes()
}

/// Puts a job where agents can fetch it.
pub(super) async fn put(context: &jetstream::Context, run: &RunId, job: &[u8]) -> Result<Digest, LinkError> {
    let failed = server("the job");
    let config =
        object_store::Config { bucket: JOBS.to_owned(), max_age: KEPT, ..object_store::Config::default() };
    let jobs = match context.get_object_store(JOBS).await {
        Ok(jobs) => jobs,
        Err(_) => context.create_object_store(config).await.map_err(|error| failed(error.to_string()))?,
    };
    let mut bytes = job;
    jobs.put(run.as_str(), &mut bytes).await.map_err(|error| failed(error.to_string()))?;
    Ok(Digest::of(job))
}

/// Fetches a job and checks that it is the one.
///
/// # Errors
/// If there is none, or another one, in words.
pub(super) async fn fetch(
    context: &jetstream::Context,
    run: &RunId,
    job: &Digest,
) -> Result<Vec<u8>, String> {
    let words = |error: &dyn std::fmt::Display| format!("the job cannot be fetched: {error}");
    let jobs = context.get_object_store(JOBS).await.map_err(|error| words(&error))?;
    let object = jobs.get(run.as_str()).await.map_err(|error| words(&error))?;
    let mut bytes = Vec::new();
    // One byte more shows that there are too many.
    object.take(JOB_MAX + 1).read_to_end(&mut bytes).await.map_err(|error| words(&error))?;
    if Digest::of(&bytes) == *job {
        Ok(bytes)
    } else {
        Err("the job is not the one that was signed".to_owned())
    }
}

/// Removes the job, which can have passwords in its requests.
pub(super) async fn forget(context: &jetstream::Context, run: &RunId) {
    if let Ok(jobs) = context.get_object_store(JOBS).await {
        // What stays behind is removed by its age.
        let _ = jobs.delete(run.as_str()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_job_that_the_own_key_signed_for_this_run_is_taken() {
        let (own, other) = (Signer::random(), Signer::random());
        let (run, another): (RunId, RunId) = ("run-1".parse().unwrap(), "run-2".parse().unwrap());
        let job = KeptJob::sign(&own, &run, &Digest::of(b"job")).unwrap();
        assert!(job.is_by(&own, &run));
        assert!(!job.is_by(&own, &another), "the job of another run");
        assert!(!job.is_by(&other, &run), "somebody else's job");
        let replaced = KeptJob { digest: Digest::of(b"another job"), ..job.clone() };
        assert!(!replaced.is_by(&own, &run), "another job under the same signature");
        let renamed =
            KeptJob { key: own.public(), ..KeptJob::sign(&other, &run, &Digest::of(b"job")).unwrap() };
        assert!(!renamed.is_by(&own, &run), "another key's signature under this key's name");
    }
}
