//! Ids of the tickets on sale: a copy of the PostgreSQL table, at most some seconds old.
//!
//! Does not know how many are left.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use deadpool_postgres::Pool;

use crate::order::Order;
use crate::refusal::Refusal;

/// The ids of all tickets.
#[derive(Debug, Default)]
pub struct Catalogue {
    ids: RwLock<HashSet<String>>,
}

impl Catalogue {
    /// Reloads the ids; keeps the old ones on failure.
    ///
    /// # Errors
    /// PostgreSQL does not respond, or has no `tickets` table.
    pub async fn refresh(&self, pool: &Pool) -> Result<(), Refusal> {
        let rows = pool.get().await?.query("SELECT id FROM tickets", &[]).await?;
        let ids = rows.iter().map(|row| row.get(0)).collect();
        *self.ids.write().unwrap_or_else(PoisonError::into_inner) = ids;
        Ok(())
    }

    /// The ids, sorted.
    pub fn ids(&self) -> Vec<String> {
        let ids = self.ids.read().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<String> = ids.iter().cloned().collect();
        ids.sort_unstable();
        ids
    }

    /// Refuses an order with an unknown ticket, before any store is queried.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] with the first such ticket.
    pub fn check(&self, order: &Order) -> Result<(), Refusal> {
        let ids = self.ids.read().unwrap_or_else(PoisonError::into_inner);
        match order.lines().find(|(id, _)| !ids.contains(*id)) {
            Some((id, _)) => Err(Refusal::Unknown(id.to_owned())),
            None => Ok(()),
        }
    }
}
