//! State of the service: Prometheus metrics and a JSON summary.
//!
//! Needs no key: the numbers are not per organization.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{AppState, HandlerResult, encode};
use crate::metric::Ended;

pub(super) async fn figures(State(app): AppState) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    // Without the store, the metrics of the process are still served.
    let backlog = app.store.backlog().await.ok();
    ([(header::CONTENT_TYPE, kind)], app.metrics.text(backlog)).into_response()
}

pub(super) async fn stats(State(app): AppState) -> HandlerResult {
    let backlog = app.store.backlog().await?;
    let metrics = &app.metrics;
    let ended = |status| metrics.ended.get_or_create(&Ended { status }).get();
    encode(&json!({
        "backlog": {
            "due": backlog.due,
            "later": backlog.later,
            "running": backlog.running,
            "oldest_ms": backlog.oldest_ms,
        },
        "node": {
            "created": metrics.created.get(),
            "claimed": metrics.claimed.get(),
            "success": ended("success"),
            "failed": ended("failed"),
            "timeout": ended("timeout"),
            "missed": ended("missed"),
            "refused": metrics.refused_results.get(),
            "rescued": metrics.rescued.get(),
            "calls_under_way": metrics.calling.get(),
            "workers": metrics.workers.get(),
            "start_lag_ms": {
                "p50": metrics.lag_ms(0.5),
                "p95": metrics.lag_ms(0.95),
                "p99": metrics.lag_ms(0.99),
                "max": metrics.lag_ms(1.0),
            },
        },
    }))
}
