//! Units for many orders in one transaction: found by one statement, shared out here, marked by one more.
//!
//! Does not favour anybody: who came first is served first, and an order that cannot be served whole leaves its units to
//! the next one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deadpool_postgres::Transaction;

use super::{MARK, Reserved, Shared};
use crate::config::UnitStatement;
use crate::key::{self, Standing};
use crate::order::{Order, Wanted};
use crate::refusal::Refusal;

const UNMARK: &str = "UPDATE ticket_units SET reserved = false WHERE id = ANY($1)";

impl Shared {
    /// Reserves units for orders in one transaction; says of each, in their order, what became of it.
    pub(super) async fn reserve_all(&self, orders: &[Wanted]) -> Vec<Reserved> {
        match self.try_all(orders).await {
            Ok(verdicts) => verdicts,
            Err(problem) => vec![Err(Arc::new(problem)); orders.len()],
        }
    }

    async fn try_all(&self, orders: &[Wanted]) -> Result<Vec<Reserved>, Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        self.set_planner(&transaction).await?;
        let requests: Vec<_> = orders.iter().map(|wanted| wanted.once.as_deref()).collect();
        let standings = key::keep_all(&transaction, &requests).await?;
        let mut found = self.find(&transaction, orders, &standings).await?;
        let (verdicts, given) = share_out(orders, &standings, &mut found);
        match self.statement {
            UnitStatement::Two => mark(&transaction, MARK, &given).await?,
            UnitStatement::One => {
                let over: Vec<i32> = found.into_values().flatten().collect();
                mark(&transaction, UNMARK, &over).await?;
            }
        }
        let refused =
            orders.iter().zip(&verdicts).zip(&standings).filter_map(|((wanted, verdict), standing)| {
                let is_kept = *standing == Standing::New && verdict.is_err();
                wanted.once.as_ref().filter(|_| is_kept).map(|once| once.key.as_str())
            });
        key::drop_all(&transaction, &refused.collect::<Vec<_>>()).await?;
        transaction.commit().await?;
        Ok(verdicts)
    }

    /// Locks as many units as all orders together want, if there are so many; with one statement they are marked, too.
    async fn find(
        &self,
        transaction: &Transaction<'_>,
        orders: &[Wanted],
        standings: &[Standing],
    ) -> Result<HashMap<String, Vec<i32>>, Refusal> {
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for (wanted, _) in orders.iter().zip(standings).filter(|(_, standing)| **standing == Standing::New) {
            for (id, count) in wanted.order.lines() {
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

/// Gives each order its units, all or none; what nobody got stays in `found`.
fn share_out(
    orders: &[Wanted],
    standings: &[Standing],
    found: &mut HashMap<String, Vec<i32>>,
) -> (Vec<Reserved>, Vec<i32>) {
    let mut given = Vec::new();
    let mut refused: HashMap<&str, Arc<Refusal>> = HashMap::new();
    let mut verdicts = Vec::with_capacity(orders.len());
    for (Wanted { order, once }, standing) in orders.iter().zip(standings) {
        let key = once.as_ref().map(|once| once.key.as_str());
        let verdict = match standing {
            Standing::Reused => Err(Arc::new(Refusal::KeyReused)),
            // Whatever became of the earlier request with this key.
            Standing::Repeated => {
                key.and_then(|key| refused.get(key)).map_or(Ok(()), |why| Err(Arc::clone(why)))
            }
            Standing::New => give(order, found, &mut given).map_err(|id| Arc::new(Refusal::Short(id))),
        };
        if let (Err(why), Some(key), Standing::New) = (&verdict, key, standing) {
            refused.insert(key, Arc::clone(why));
        }
        verdicts.push(verdict);
    }
    (verdicts, given)
}

fn give(order: &Order, found: &mut HashMap<String, Vec<i32>>, given: &mut Vec<i32>) -> Result<(), String> {
    let is_short = |id: &str, count: i32| found.get(id).map_or(0, Vec::len) < count as usize;
    if let Some((id, _)) = order.lines().find(|(id, count)| is_short(id, *count)) {
        return Err(id.to_owned());
    }
    for (id, count) in order.lines() {
        if let Some(units) = found.get_mut(id) {
            given.extend(units.drain(units.len() - count as usize..));
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
