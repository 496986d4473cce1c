//! Which tickets are on sale, by id, as PostgreSQL had them some seconds ago.
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
    /// Reads the ids anew; the old ones stay when that fails.
    ///
    /// # Errors
    /// PostgreSQL does not answer, or has no table of tickets.
    pub async fn refresh(&self, pool: &Pool) -> Result<(), Refusal> {
        let rows = pool.get().await?.query("SELECT id FROM tickets", &[]).await?;
        let ids = rows.iter().map(|row| row.get(0)).collect();
        *self.ids.write().unwrap_or_else(PoisonError::into_inner) = ids;
        Ok(())
    }

    /// Refuses an order with a ticket that nobody sells, before a store is asked.
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
