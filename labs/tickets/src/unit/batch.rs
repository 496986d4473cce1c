//! Units for many orders in one transaction: one statement finds them, this module assigns them, one more marks them.
//!
//! Does not reorder: orders are served first come, first served. An order that cannot get all its units leaves them to the next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deadpool_postgres::Transaction;

use super::{MARK, Reserved, Shared};
use crate::config::UnitStatement;
use crate::key_table::{self, KeyState};
use crate::order::{Order, OrderRequest};
use crate::refusal::Refusal;

const UNMARK: &str = "UPDATE ticket_units SET reserved = false WHERE id = ANY($1)";

impl Shared {
    /// Reserves units for orders in one transaction. Returns one result per order, in the same order.
    pub(super) async fn reserve_all(&self, orders: &[OrderRequest]) -> Vec<Reserved> {
        match self.try_all(orders).await {
            Ok(results) => results,
            Err(problem) => vec![Err(Arc::new(problem)); orders.len()],
        }
    }

    async fn try_all(&self, orders: &[OrderRequest]) -> Result<Vec<Reserved>, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        self.set_planner(&transaction).await?;
        let requests: Vec<_> = orders.iter().map(|request| request.idempotency.as_deref()).collect();
        let key_states = key_table::insert_all(&transaction, &requests).await?;
        let mut found = self.find(&transaction, orders, &key_states).await?;
        let (results, assigned) = distribute(orders, &key_states, &mut found);
        match self.statement {
            UnitStatement::Two => mark(&transaction, MARK, &assigned).await?,
            UnitStatement::One => {
                let unassigned: Vec<i32> = found.into_values().flatten().collect();
                mark(&transaction, UNMARK, &unassigned).await?;
            }
        }
        let refused =
            orders.iter().zip(&results).zip(&key_states).filter_map(|((request, result), key_state)| {
                let is_kept = *key_state == KeyState::New && result.is_err();
                request.idempotency.as_ref().filter(|_| is_kept).map(|idempotency| idempotency.key.as_str())
            });
        key_table::delete_all(&transaction, &refused.collect::<Vec<_>>()).await?;
        transaction.commit().await?;
        Ok(results)
    }

    /// Locks as many units as all orders need together, or as many as there are. With one statement, marks them too.
    async fn find(
        &self,
        transaction: &Transaction<'_>,
        orders: &[OrderRequest],
        key_states: &[KeyState],
    ) -> Result<HashMap<String, Vec<i32>>, Refusal> {
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for (request, _) in
            orders.iter().zip(key_states).filter(|(_, key_state)| **key_state == KeyState::New)
        {
            for (id, count) in request.order.lines() {
                *sums.entry(id).or_default() += i64::from(count);
            }
        }
        let (ids, counts): (Vec<&str>, Vec<i64>) = sums.into_iter().unzip();
        let sql = match self.statement {
            UnitStatement::Two => &self.find_all,
            UnitStatement::One => &self.find_and_mark_all,
        };
        let statement = transaction.prepare_cached(sql).await?;
        let mut found: HashMap<String, Vec<i32>> = HashMap::with_capacity(ids.len());
        for row in transaction.query(&statement, &[&ids, &counts]).await? {
            let id: &str = row.get(0);
            match found.get_mut(id) {
                Some(units) => units.push(row.get(1)),
                None => {
                    found.insert(id.to_owned(), vec![row.get(1)]);
                }
            }
        }
        Ok(found)
    }
}

/// Assigns units to each order, all or none; unassigned units stay in `found`.
fn distribute(
    orders: &[OrderRequest],
    key_states: &[KeyState],
    found: &mut HashMap<String, Vec<i32>>,
) -> (Vec<Reserved>, Vec<i32>) {
    let mut assigned = Vec::new();
    let mut refused: HashMap<&str, Arc<Refusal>> = HashMap::new();
    let mut results = Vec::with_capacity(orders.len());
    for (OrderRequest { order, idempotency }, key_state) in orders.iter().zip(key_states) {
        let key = idempotency.as_ref().map(|idempotency| idempotency.key.as_str());
        let result = match key_state {
            KeyState::Reused => Err(Arc::new(Refusal::KeyReused)),
            // The result of the earlier request with this key.
            KeyState::Repeated => {
                key.and_then(|key| refused.get(key)).map_or(Ok(()), |refusal| Err(Arc::clone(refusal)))
            }
            KeyState::New => {
                assign(order, found, &mut assigned).map_err(|id| Arc::new(Refusal::NotEnoughLeft(id)))
            }
        };
        if let (Err(refusal), Some(key), KeyState::New) = (&result, key, key_state) {
            refused.insert(key, Arc::clone(refusal));
        }
        results.push(result);
    }
    (results, assigned)
}

fn assign(
    order: &Order,
    found: &mut HashMap<String, Vec<i32>>,
    assigned: &mut Vec<i32>,
) -> Result<(), String> {
    let is_short = |id: &str, count: i32| found.get(id).map_or(0, Vec::len) < count as usize;
    if let Some((id, _)) = order.lines().find(|(id, count)| is_short(id, *count)) {
        return Err(id.to_owned());
    }
    for (id, count) in order.lines() {
        if let Some(units) = found.get_mut(id) {
            assigned.extend(units.drain(units.len() - count as usize..));
        }
    }
    Ok(())
}

async fn mark(transaction: &Transaction<'_>, sql: &str, units: &[i32]) -> Result<(), Refusal> {
    if !units.is_empty() {
        let statement = transaction.prepare_cached(sql).await?;
        transaction.execute(&statement, &[&units]).await?;
    }
    Ok(())
}
