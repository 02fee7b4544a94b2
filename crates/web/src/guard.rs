//! Who may see and command the session: only a page that we served to somebody
//! who knows its address.
//!
//! The token in the path keeps other users of the machine out. Browsers also
//! run pages of others: those cannot read the token, a name that somebody
//! points at this machine is refused by its `Host`, and a request from another
//! page by its `Origin` and `Sec-Fetch-Site`.

use crate::Page;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub struct Guard {
    token: String,
    address: SocketAddr,
    /// What this machine is called, for a page that others may open.
    machine: Option<String>,
}

const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
    style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

impl Guard {
    pub fn new(address: SocketAddr) -> std::io::Result<Guard> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let token = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let machine = match address.ip().is_loopback() {
            true => None,
            false => std::fs::read_to_string("/proc/sys/kernel/hostname").ok(),
        };
        Ok(Guard {
            token,
            address,
            machine: machine.map(|m| m.trim().to_lowercase()),
        })
    }

    /// The address to open.
    pub fn url(&self) -> String {
        let port = self.address.port();
        let host = match (self.address.ip(), &self.machine) {
            (ip, Some(machine)) if ip.is_unspecified() => format!("{machine}:{port}"),
            _ => self.address.to_string(),
        };
        format!("http://{host}/{}/", self.token)
    }

    /// The token, compared in the same time whatever is wrong.
    fn knows(&self, path: &str) -> bool {
        let given = path.trim_start_matches('/').split('/').next().unwrap_or("");
        let different = |(a, b): (u8, u8)| a ^ b;
        let pairs = given.bytes().zip(self.token.bytes());
        let wrong = pairs.map(different).fold(0, |all, one| all | one);
        given.len() == self.token.len() && wrong == 0
    }

    /// A name of this machine that nobody else can give it.
    fn is_host(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) {
            return false;
        }
        let name = name.trim_matches(['[', ']']);
        if name.eq_ignore_ascii_case("localhost") {
            return self.address.ip().is_loopback() || self.address.ip().is_unspecified();
        }
        match name.parse::<IpAddr>() {
            Ok(ip) if self.address.ip().is_loopback() => ip.is_loopback(),
            Ok(_) => true,
            Err(_) => self.machine.as_deref() == Some(name.to_lowercase().as_str()),
        }
    }

    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
        let host = text(header::HOST).unwrap_or("");
        if !self.is_host(host) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "not a name of this page"));
        }
        if let Some(origin) = text(header::ORIGIN)
            && origin.strip_prefix("http://") != Some(host)
        {
            return Some((StatusCode::FORBIDDEN, "not a request of this page"));
        }
        // A click on a link elsewhere may open the page, but nothing else may come from there.
        let site = text(HeaderName::from_static("sec-fetch-site"));
        let mode = text(HeaderName::from_static("sec-fetch-mode"));
        if !matches!(site, None | Some("same-origin" | "none")) && mode != Some("navigate") {
            return Some((StatusCode::FORBIDDEN, "not a request of this page"));
        }
        if !self.knows(path) {
            return Some((StatusCode::NOT_FOUND, "the address is not complete"));
        }
        None
    }
}

/// Refuses strangers, and tells the browser to keep them out, too.
pub async fn check(State(page): State<Arc<Page>>, request: Request, next: Next) -> Response {
    let refusal = page.guard.refusal(request.uri().path(), request.headers());
    let mut response = match refusal {
        Some((status, text)) => (status, format!("verde: {text}\n")).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(guard: &Guard, path: &str, headers: &[(&'static str, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).expect("a header");
            map.insert(HeaderName::from_static(name), value);
        }
        guard.refusal(path, &map).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_the_page_itself_is_served() {
        let guard = Guard::new(SocketAddr::from(([127, 0, 0, 1], 7000))).expect("a token");
        let path = format!("/{}/data/ask", guard.token);
        let host = ("host", "127.0.0.1:7000");
        let try_it = |path: &str, headers: &[(&'static str, &str)]| refused(&guard, path, headers);
        assert_eq!(try_it(&path, &[host]), None);
        assert_eq!(try_it(&path, &[("host", "localhost:7000")]), None);
        assert_eq!(
            try_it(&path, &[host, ("origin", "http://127.0.0.1:7000")]),
            None
        );
        // Names that somebody else chose, other ports, no name at all.
        assert_eq!(try_it(&path, &[("host", "evil.example:7000")]), Some(421));
        assert_eq!(try_it(&path, &[("host", "127.0.0.1:7001")]), Some(421));
        assert_eq!(try_it(&path, &[("host", "192.168.1.2:7000")]), Some(421));
        assert_eq!(try_it(&path, &[]), Some(421));
        // Other pages.
        for origin in ["http://evil.example", "null", "https://127.0.0.1:7000"] {
            assert_eq!(try_it(&path, &[host, ("origin", origin)]), Some(403));
        }
        assert_eq!(
            try_it(&path, &[host, ("sec-fetch-site", "cross-site")]),
            Some(403)
        );
        assert_eq!(
            try_it(
                &path,
                &[
                    host,
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate")
                ]
            ),
            None
        );
        // Wrong tokens.
        let mut wrong = guard.token.clone();
        wrong.replace_range(0..1, if wrong.starts_with('0') { "1" } else { "0" });
        for path in [
            "/",
            "/x/",
            &format!("/{wrong}/"),
            &format!("/{}/", &wrong[1..]),
        ] {
            assert_eq!(try_it(path, &[host]), Some(404));
        }
    }

    #[test]
    fn a_page_for_others_has_their_names_for_this_machine() {
        let guard = Guard {
            token: "t".into(),
            address: SocketAddr::from(([0, 0, 0, 0], 7000)),
            machine: Some("build7".into()),
        };
        assert!(guard.is_host("192.168.1.2:7000"));
        assert!(guard.is_host("Build7:7000"));
        assert!(!guard.is_host("evil.example:7000"));
        assert_eq!(guard.url(), "http://build7:7000/t/");
    }
}
