//! The routes of what an organization wants to be told.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method};
use jiff::Timestamp;

use super::{Answer, Arrived, One, Shared, encode, once, text};
use crate::notice::WishesChange;

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
    let changing = async {
        let wishes = office.store.wish(organization, &change).await?;
        Ok((200, text(&One { data: wishes })?))
    };
    office.idempotent(organization, once, changing).await
}
