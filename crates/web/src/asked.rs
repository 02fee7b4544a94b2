//! What the page asks of the session.

use crate::Page;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;
use verde_session::board::{Answer, Request};

/// Passes a request on and waits for its answer, which for a command that lets the program go
/// comes when it stops.
pub async fn ask(
    State(page): State<Arc<Page>>,
    Json(mut request): Json<Request>,
) -> Result<Json<Answer>, StatusCode> {
    if let Request::Line { shared, .. } = &mut request {
        *shared = true;
    }
    let answer = page.board.ask(request);
    let waited = tokio::task::spawn_blocking(move || answer.recv()).await;
    match waited {
        Ok(Ok(answer)) => Ok(Json(answer)),
        // The session is over.
        _ => Err(StatusCode::GONE),
    }
}

pub async fn interrupt(State(page): State<Arc<Page>>) -> StatusCode {
    // It may wait for the session's thread to notice.
    let done = tokio::task::spawn_blocking(move || page.board.interrupt()).await;
    match done {
        Ok(true) => StatusCode::NO_CONTENT,
        _ => StatusCode::CONFLICT,
    }
}
