//! The routes of what an organization wants to be told.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method};
use jiff::Timestamp;

use super::{Answer, Arrived, One, Shared, answer, answered, encode, once};
use crate::notice::WishesChange;
use crate::store::deed::{Begun, Deed};

/// What is wanted now.
pub(super) async fn wishes(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    encode(&One { data: office.store.wishes(organization).await? })
}

/// What is wanted from now on.
pub(super) async fn wish(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    method: Method,
    headers: HeaderMap,
    body: Arrived,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let body = office.body(&headers, body)?;
    let once = once(&headers, method.as_str(), "/api/v1/notifications", &body)?;
    let change = WishesChange::read(&body)?;
    let mut client = office.store.connect().await?;
    let deed = match Deed::begin(&mut client, organization, once).await? {
        Begun::New(deed) => deed,
        Begun::Before(answer) => return Ok(answered(answer)),
    };
    let answer = answer(200, &One { data: deed.wish(&change).await? })?;
    deed.end(&answer).await?;
    Ok(answered(answer))
}
