//! The server that follows: copied by `pg_basebackup`, streaming through a slot of its own.
//!
//! Does not fail over.

use knee_core::fixture::Replication;

use super::{CONFIGURATION, Cluster, REPLICA, Server, USER};
use crate::error::Error;
use crate::folder;
use crate::launcher::Launcher;

/// How long it can take to catch up, in seconds.
const CAUGHT_UP_WITHIN_S: f64 = 120.0;

impl Cluster {
    /// Copies the primary, starts the copy as a replica, and makes commits wait for it if that is declared.
    pub(super) fn follow(&mut self, launcher: &Launcher) -> Result<(), Error> {
        let Some(data) = self.replica.as_ref().map(|replica| replica.data.clone()) else { return Ok(()) };
        let source = format!(
            "host={} port={} user={USER} application_name={REPLICA}",
            self.folder.display(),
            self.primary.port
        );
        let mut args = vec![format!("--pgdata={}", data.display()), format!("--dbname={source}")];
        args.extend(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"].map(str::to_owned));
        args.extend(["--no-sync", "--create-slot", "--slot", REPLICA].map(str::to_owned));
        let launch = self.tool("pg_basebackup", args, "basebackup");
        launcher.run_well(&launch, &format!("copying PostgreSQL `{}` to its replica", self.name))?;
        self.start_replica(launcher)?;
        if self.declared.replica == Some(Replication::Sync) {
            // Only now: without a replica every commit would wait.
            let text = self.configuration(&self.settings)?;
            folder::write(&self.primary.data.join(CONFIGURATION), &text, self.user)?;
            self.ask(
                "make commits wait for the replica",
                "postgres",
                &["SELECT pg_reload_conf()".to_owned()],
            )?;
            self.wait_until_streaming(launcher, "sync_state = 'sync'")?;
        }
        Ok(())
    }

    /// Starts the replica with the settings of the primary and waits until it streams.
    pub(super) fn start_replica(&mut self, launcher: &Launcher) -> Result<(), Error> {
        let text = self.configuration(&self.settings)?;
        // A primary that was started anew can have another port; the last line wins.
        let source = format!(
            "host={} port={} user={USER} application_name={REPLICA}",
            self.folder.display(),
            self.primary.port
        );
        let text = format!("{text}synchronous_standby_names = ''\n");
        if let Some(mut server) = self.replica.take() {
            let written = folder::write(&server.data.join(CONFIGURATION), &text, self.user)
                .and_then(|()| write_source(&server, &source, self));
            let started = written.and_then(|()| self.bring_up(launcher, &mut server));
            self.replica = Some(server);
            started?;
        }
        self.wait_until_streaming(launcher, "true")
    }

    /// Waits until the replica has replayed all that the primary wrote so far.
    pub(super) fn wait_for_replica(&self, launcher: &Launcher) -> Result<(), Error> {
        let at =
            self.ask("read its position", "postgres", &["SELECT pg_current_wal_lsn()::text".to_owned()])?;
        let at = at.unwrap_or_default();
        self.wait_until_streaming(launcher, &format!("replay_lsn >= '{at}'::pg_lsn"))
    }

    fn wait_until_streaming(&self, launcher: &Launcher, also: &str) -> Result<(), Error> {
        let query = format!(
            "SELECT count(*) FROM pg_stat_replication \
             WHERE application_name = '{REPLICA}' AND state = 'streaming' AND {also}"
        );
        let mut failed = Ok(());
        let what = format!("waiting for the replica of PostgreSQL `{}`", self.name);
        let streams = launcher.wait_until(&what, CAUGHT_UP_WITHIN_S, || {
            match self.ask("check its replica", "postgres", std::slice::from_ref(&query)) {
                Ok(count) => count.as_deref() == Some("1"),
                Err(error) => {
                    failed = Err(error);
                    true
                }
            }
        })?;
        failed?;
        if streams {
            return Ok(());
        }
        let Some(replica) = &self.replica else { return Ok(()) };
        replica.check(launcher, false)?;
        Err(Error::NeverReady {
            who: replica.who.clone(),
            within_s: CAUGHT_UP_WITHIN_S,
            waited_for: format!("`{also}` in pg_stat_replication of the primary"),
            last_lines: folder::last_lines(&replica.log, crate::launcher::QUOTED),
        })
    }
}

/// Writes the address of the primary into the replica's own configuration file, while the replica is not running.
fn write_source(server: &Server, source: &str, cluster: &Cluster) -> Result<(), Error> {
    let text =
        format!("primary_conninfo = '{}'\nprimary_slot_name = '{REPLICA}'\n", source.replace('\'', "''"));
    folder::write(&server.data.join("postgresql.auto.conf"), &text, cluster.user)
}
