//! The page's files, compressed as they were built from `web/`.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

struct Asset {
    name: &'static str,
    kind: &'static str,
    gzip: &'static [u8],
}

macro_rules! assets {
    ($($name:literal, $kind:literal;)*) => {
        &[$(Asset {
            name: $name,
            kind: $kind,
            gzip: include_bytes!(concat!("../assets/", $name, ".gz")),
        }),*]
    };
}

const ASSETS: &[Asset] = assets! {
    "page.html", "text/html; charset=utf-8";
    "page.css", "text/css; charset=utf-8";
    "page.js", "text/javascript; charset=utf-8";
    "viz.js", "text/javascript; charset=utf-8";
    "icon.svg", "image/svg+xml";
};

fn send(name: &str) -> Response {
    match ASSETS.iter().find(|a| a.name == name) {
        Some(asset) => (
            [
                (header::CONTENT_TYPE, asset.kind),
                (header::CONTENT_ENCODING, "gzip"),
            ],
            asset.gzip,
        )
            .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The address without its last `/`, from which the page would not find its files.
pub async fn home(Path(token): Path<String>) -> Redirect {
    Redirect::temporary(&format!("/{token}/"))
}

pub async fn html() -> Response {
    send("page.html")
}

pub async fn file(Path((_, name)): Path<(String, String)>) -> Response {
    send(&name)
}
