//! Which controller has a run: what NATS keeps of the run, its changes against those of others, and signs of life.
//!
//! Does not conduct the run.

use std::time::Duration;

use async_nats::jetstream::kv::{self, UpdateErrorKind};
use async_nats::jetstream::stream;
use futures_util::StreamExt;

use super::{Fleet, RunError, Saved};
use crate::controller::Failure;
use crate::name::RunId;
use crate::nats::job::{self, KeptJob};
use crate::nats::{KEPT, LinkError, RUNS, server, signature_of, stream_name};
use crate::signature::is_valid;
use crate::wire::{Beat, subject};

/// How often the end of a run is written against a change of what was kept of it.
const END_TRIES: usize = 5;
/// Signs of life come twice a second: who gives none for so long is gone, or hangs.
const SILENT: Duration = Duration::from_millis(1_600);

impl Fleet {
    /// The runs that can be taken over.
    ///
    /// # Errors
    /// If NATS refuses.
    pub async fn runs(&self) -> Result<Vec<Saved>, LinkError> {
        let Ok(bucket) = self.context.get_key_value(RUNS).await else { return Ok(Vec::new()) };
        let mut keys = bucket.keys().await.map_err(|error| server("the runs")(error.to_string()))?;
        let mut runs = Vec::new();
        while let Some(Ok(key)) = keys.next().await {
            if let Ok(Some(bytes)) = bucket.get(&key).await
                && let Ok(saved) = serde_json::from_slice(&bytes)
            {
                runs.push(saved);
            }
        }
        Ok(runs)
    }

    /// The saved state of a run.
    ///
    /// # Errors
    /// If there is none.
    pub async fn saved(&self, run: &RunId) -> Result<Saved, RunError> {
        let none = || RunError::NoRun(run.clone());
        let bucket = self.context.get_key_value(RUNS).await.map_err(|_| none())?;
        let entry = bucket.entry(run.as_str()).await.ok().flatten().ok_or_else(none)?;
        let saved: Saved = serde_json::from_slice(&entry.value).map_err(|_| none())?;
        if !saved.begun {
            return Err(none());
        }
        Ok(Saved { revision: entry.revision, ..saved })
    }

    /// Whether the controller that had a run last, or a later one, gives signs of life. Takes about a second and a half if
    /// none does. Also true if this cannot be learned.
    pub async fn is_conducted(&self, saved: &Saved) -> bool {
        // Without a subscription nothing is known of the run, and it is left alone.
        let Ok(mut beats) = self.client.subscribe(subject::beat(&saved.run)).await else { return true };
        let heard = async {
            while let Some(message) = beats.next().await {
                let signed = signature_of(message.headers.as_ref());
                let Ok(beat) = serde_json::from_slice::<Beat>(&message.payload) else { continue };
                // One that was replaced can still be at it. That the signer is unknown here is no reason to disturb.
                if signed.is_some_and(|signed| is_valid(&message.payload, &signed))
                    && beat.run == saved.run
                    && beat.lead >= saved.lead
                {
                    return;
                }
            }
            // No connection: nothing is heard.
            std::future::pending::<()>().await;
        };
        tokio::time::timeout(SILENT, heard).await.is_ok()
    }

    /// Removes what NATS keeps of a run.
    pub async fn forget(&self, run: &RunId) {
        // What stays behind is removed by its age.
        let _ = self.context.delete_stream(stream_name(run)).await;
        if let Ok(bucket) = self.context.get_key_value(RUNS).await {
            let _ = bucket.purge(run.as_str()).await;
        }
        job::forget(&self.context, run).await;
    }

    /// The job of a run that is to be taken over, if it was kept; an error in words if it is not to be trusted.
    ///
    /// # Errors
    /// If another key than this controller's signed it, or it cannot be fetched.
    pub async fn kept_job(&self, saved: &Saved) -> Result<Option<Vec<u8>>, String> {
        let Some(kept) = &saved.job else { return Ok(None) };
        if !kept.is_by(&self.signer, &saved.run) {
            return Err("it was begun with another key".to_owned());
        }
        job::fetch(&self.context, &saved.run, kept.digest()).await.map(Some)
    }

    /// Signs the job of a run, for a controller that takes the run over.
    pub(super) fn sign_job(&self, run: &RunId, digest: &crate::wire::Digest) -> Option<KeptJob> {
        KeptJob::sign(&self.signer, run, digest)
    }

    /// Keeps what another controller must know, unless another one has written it since.
    pub(super) async fn save(&self, saved: &mut Saved) -> Result<(), RunError> {
        let failed = server("the state of the run");
        let bucket = match self.context.get_key_value(RUNS).await {
            Ok(bucket) => bucket,
            Err(_) => self.make_bucket().await.map_err(&failed)?,
        };
        let bytes = serde_json::to_vec(saved).map_err(|error| failed(error.to_string()))?;
        match bucket.update(saved.run.as_str(), bytes.into(), saved.revision).await {
            Ok(revision) => saved.revision = revision,
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
                return Err(Failure::Superseded.into());
            }
            Err(error) => return Err(failed(error.to_string()).into()),
        }
        Ok(())
    }

    /// Makes the bucket of runs as the library does it, but without its question for the account, whose answer by a server
    /// before 2.10 it cannot read.
    async fn make_bucket(&self) -> Result<kv::Store, String> {
        let config = stream::Config {
            name: format!("KV_{RUNS}"),
            subjects: vec![format!("$KV.{RUNS}.>")],
            max_messages_per_subject: 1,
            max_age: KEPT,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            discard: stream::DiscardPolicy::New,
            num_replicas: 1,
            ..stream::Config::default()
        };
        self.context.get_or_create_stream(config).await.map_err(|error| error.to_string())?;
        self.context.get_key_value(RUNS).await.map_err(|error| error.to_string())
    }

    /// Whether no other controller has taken the run over or ended it.
    ///
    /// # Errors
    /// If one has.
    pub(super) async fn keeps(&self, saved: &Saved) -> Result<(), Failure> {
        // Without NATS, or with an empty one, no other controller can have it.
        let Ok(bucket) = self.context.get_key_value(RUNS).await else { return Ok(()) };
        let Ok(entry) = bucket.entry(saved.run.as_str()).await else { return Ok(()) };
        let kept = entry.and_then(|entry| serde_json::from_slice::<Saved>(&entry.value).ok());
        kept.filter(|kept| kept.lead <= saved.lead).map(drop).ok_or(Failure::Superseded)
    }

    /// Says that this controller has had the run to its end, unless another one has it: only one of them runs what follows
    /// the load of a script. Removes the job, which nothing needs any more.
    pub(super) async fn end(&self, saved: &Saved) -> Result<(), Failure> {
        for _ in 0..END_TRIES {
            // Without NATS, or with an empty one, no other controller can have it.
            let Ok(bucket) = self.context.get_key_value(RUNS).await else { break };
            let Ok(entry) = bucket.entry(saved.run.as_str()).await else { break };
            let kept = entry.as_ref().and_then(|entry| serde_json::from_slice::<Saved>(&entry.value).ok());
            let kept = kept.filter(|kept| kept.lead <= saved.lead);
            // Removed by another one that has ended it, or taken over.
            let (Some(entry), Some(kept)) = (entry, kept) else { return Err(Failure::Superseded) };
            let ended = Saved { ended: true, job: None, ..kept };
            let Ok(bytes) = serde_json::to_vec(&ended) else { break };
            if bucket.update(saved.run.as_str(), bytes.into(), entry.revision).await.is_ok() {
                break;
            }
        }
        job::forget(&self.context, &saved.run).await;
        Ok(())
    }
}
