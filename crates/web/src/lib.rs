//! The live page: a session in the browser.
//!
//! One thread serves it. The page's code is embedded, compressed; a frame goes
//! to each open tab by server-sent events, at most 60 a second; what the page
//! asks comes by POST and is answered by the session's own thread.

mod address;
mod asked;
mod assets;
mod guard;
mod shapes;
mod stream;

pub use address::{Listen, parse_address};

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use stream::Tabs;
use verde_session::board::Board;

/// What the handlers share.
struct Page {
    board: Board,
    guard: guard::Guard,
    tabs: Tabs,
}

/// How often a session is asked for a frame while somebody looks.
const FRAME: Duration = Duration::from_micros(16_667);

/// Serves a board on a thread of its own until the process ends. The address to open.
pub fn serve(board: Board, listen: &Listen) -> Result<String, String> {
    let wrong = |e: std::io::Error| format!("cannot serve the page at {}: {e}", listen.address);
    let listener = TcpListener::bind(listen.address).map_err(wrong)?;
    listener.set_nonblocking(true).map_err(wrong)?;
    let address = listener.local_addr().map_err(wrong)?;
    let guard = guard::Guard::new(address).map_err(|e| format!("no random token: {e}"))?;
    let url = guard.url();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(wrong)?;
    let page = Arc::new(Page {
        tabs: Tabs::new(&board),
        board,
        guard,
    });
    let run = move || {
        runtime.block_on(async move {
            tokio::spawn(tick(page.clone()));
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            // It ends with the process only.
            let _ = axum::serve(listener, router(page)).await;
        });
    };
    std::thread::Builder::new()
        .name("verde-page".into())
        .spawn(run)
        .map_err(wrong)?;
    Ok(url)
}

/// Asks for frames while a tab is open.
async fn tick(page: Arc<Page>) {
    loop {
        page.tabs.some().await;
        tokio::time::sleep(FRAME).await;
        page.board.tick();
    }
}

fn router(page: Arc<Page>) -> Router {
    Router::new()
        .route("/{token}", get(assets::home))
        .route("/{token}/", get(assets::html))
        .route("/{token}/{file}", get(assets::file))
        .route("/{token}/data/properties", get(shapes::properties))
        .route("/{token}/data/frames", get(stream::frames))
        .route("/{token}/data/ask", post(asked::ask))
        .route("/{token}/data/interrupt", post(asked::interrupt))
        .layer(middleware::from_fn_with_state(page.clone(), guard::check))
        .with_state(page)
}

/// Opens an address in a browser, if there is a desktop.
pub fn open_browser(url: &str) -> bool {
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"];
    if !desktop.iter().any(|name| std::env::var_os(name).is_some()) {
        return false;
    }
    // The shell ends at once, so that no child of ours is left behind.
    std::process::Command::new("sh")
        .args(["-c", "xdg-open \"$1\" >/dev/null 2>&1 &", "sh", url])
        .status()
        .is_ok_and(|status| status.success())
}
