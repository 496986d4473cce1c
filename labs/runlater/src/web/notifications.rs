//! Routes for notification settings.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method};
use jiff::Timestamp;

use super::{AppState, BodyResult, HandlerResult, ItemBody, encode, idempotency_key, respond, response};
use crate::notification::NotificationSettingsChange;
use crate::store::transaction::{RequestTransaction, Started};

/// Shows the settings.
pub(super) async fn show(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    encode(&ItemBody { data: app.store.notification_settings(organization).await? })
}

/// Changes the settings.
pub(super) async fn change(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    method: Method,
    headers: HeaderMap,
    body: BodyResult,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    let body = app.body(&headers, body)?;
    let idempotency_key = idempotency_key(&headers, method.as_str(), "/api/v1/notifications", &body)?;
    let change = NotificationSettingsChange::read(&body)?;
    let mut client = app.store.connect().await?;
    let transaction = match RequestTransaction::begin(&mut client, organization, idempotency_key).await? {
        Started::New(transaction) => transaction,
        Started::Replayed(response) => return Ok(respond(response)),
    };
    let response =
        response(200, &ItemBody { data: transaction.change_notification_settings(&change).await? })?;
    transaction.end(&response).await?;
    Ok(respond(response))
}
