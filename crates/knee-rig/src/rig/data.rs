//! The data of services: seeded once for each revision, kept, brought back.
//!
//! Which stores belong to a service is read from its texts. Does not start or end services.

use std::path::{Path, PathBuf};

use knee_core::rig::{Reset, Service};

use super::{Overrides, Rig, standing};
use crate::error::Error;
use crate::service::{SeedKey, Standing};
use crate::{declaration, folder};

impl Rig {
    /// Puts the settings of an arm into force. A Redis server that had to be started anew is empty, so what
    /// the service had seeded there is brought back.
    pub(super) fn settle(&mut self, name: &str, overrides: &Overrides) -> Result<(), Error> {
        let nothing = std::collections::BTreeMap::new();
        let unknown = overrides.postgres.keys().find(|store| !self.postgres.contains_key(*store));
        let unknown =
            unknown.or_else(|| overrides.redis.keys().find(|store| !self.redis.contains_key(*store)));
        if let Some(store) = unknown {
            return Err(Error::declared(
                store.clone(),
                "is not a store that the rig started; it cannot be given settings",
            ));
        }
        for (store, cluster) in &mut self.postgres {
            cluster.settle(&self.hands, overrides.postgres.get(store).unwrap_or(&nothing))?;
        }
        let mut emptied = Vec::new();
        for (store, server) in &mut self.redis {
            if server.settle(&self.hands, overrides.redis.get(store).unwrap_or(&nothing))? {
                emptied.push(store.clone());
            }
        }
        let declared = self.declared(name)?.clone();
        for store in emptied {
            let kept = self.services.get(name).and_then(|service| {
                let number = service.saved.get(service.seeded.as_ref()?)?;
                Some(self.kept_keys(name, &store, *number))
            });
            match (kept.filter(|file| file.exists()), self.redis.get(&store)) {
                (Some(file), Some(server)) => server.restore(&file)?,
                // Without a copy the seed has to make it again.
                _ if declaration::referred(name, &declared, "redis").contains(&store) => {
                    self.forget_seed(name);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes sure that the data of a service is that of its seed as this arm has it.
    pub(super) fn prepare(
        &mut self,
        name: &str,
        declared: &Service,
        overrides: &Overrides,
        source: &Path,
    ) -> Result<(), Error> {
        if !self.services.contains_key(name) {
            self.services.insert(name.to_owned(), Standing::new(&self.hands, name)?);
        }
        let service = standing(&mut self.services, name)?;
        let key: SeedKey = overrides.revision.clone();
        if service.seeded.as_ref() == Some(&key)
            || (declared.reset == Reset::Keep && service.seeded.is_some())
        {
            return Ok(());
        }
        if service.saved.contains_key(&key) {
            return self.restore(name, declared, &key);
        }
        if service.touched {
            self.empty(name, declared)?;
        }
        let around = self.around(name, declared, source, None)?;
        let service = standing(&mut self.services, name)?;
        service.touched = true;
        service.seed(&self.hands, &around, declared, overrides)?;
        self.save(name, declared, &key)?;
        standing(&mut self.services, name)?.seeded = Some(key);
        Ok(())
    }

    /// Keeps the data as the seed left it, as far as a reset will want it.
    fn save(&mut self, name: &str, declared: &Service, key: &SeedKey) -> Result<(), Error> {
        if !matches!(declared.reset, Reset::Copy | Reset::Stores) {
            return Ok(());
        }
        let service = standing(&mut self.services, name)?;
        let (number, data) = (service.saved.len(), service.data.clone());
        folder::copy(&data, &self.kept_data(name, number))?;
        if declared.reset == Reset::Stores {
            for store in declaration::referred(name, declared, "postgres") {
                self.postgres.get(&store).map_or(Ok(()), |cluster| cluster.save(number))?;
            }
            for store in declaration::referred(name, declared, "redis") {
                let file = self.kept_keys(name, &store, number);
                self.redis.get(&store).map_or(Ok(()), |server| server.save(&file))?;
            }
        }
        standing(&mut self.services, name)?.saved.insert(key.clone(), number);
        Ok(())
    }

    /// Brings back what was kept.
    pub(super) fn restore(&mut self, name: &str, declared: &Service, key: &SeedKey) -> Result<(), Error> {
        let service = standing(&mut self.services, name)?;
        let Some(&number) = service.saved.get(key) else { return Ok(()) };
        let data = service.data.clone();
        // Until all of it is back the data is that of no seed.
        service.seeded = None;
        folder::remove(&data)?;
        folder::copy(&self.kept_data(name, number), &data)?;
        if declared.reset == Reset::Stores {
            for store in declaration::referred(name, declared, "postgres") {
                self.postgres.get(&store).map_or(Ok(()), |cluster| cluster.restore(&self.hands, number))?;
            }
            for store in declaration::referred(name, declared, "redis") {
                let file = self.kept_keys(name, &store, number);
                self.redis.get(&store).map_or(Ok(()), |server| server.restore(&file))?;
            }
        }
        standing(&mut self.services, name)?.seeded = Some(key.clone());
        Ok(())
    }

    /// Empties the folder of a service, and its stores if resets may touch them.
    pub(super) fn empty(&mut self, name: &str, declared: &Service) -> Result<(), Error> {
        let data = standing(&mut self.services, name)?.data.clone();
        folder::remove(&data)?;
        folder::create(&data, None)?;
        if !matches!(declared.reset, Reset::Stores | Reset::Seed) {
            return Ok(());
        }
        for store in declaration::referred(name, declared, "postgres") {
            self.postgres.get(&store).map_or(Ok(()), |cluster| cluster.empty(&self.hands))?;
        }
        for store in declaration::referred(name, declared, "redis") {
            self.redis.get(&store).map_or(Ok(()), crate::redis::Server::empty)?;
        }
        Ok(())
    }

    fn forget_seed(&mut self, name: &str) {
        if let Some(service) = self.services.get_mut(name) {
            service.seeded = None;
        }
    }

    fn kept_data(&self, name: &str, number: usize) -> PathBuf {
        self.hands.root.join(format!("kept-{name}-{number}"))
    }

    fn kept_keys(&self, name: &str, store: &str, number: usize) -> PathBuf {
        self.hands.root.join(format!("kept-{name}-{number}.{store}.keys"))
    }
}
