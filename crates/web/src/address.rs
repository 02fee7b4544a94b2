//! Where the page is served.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    pub address: SocketAddr,
}

/// Reads `PORT`, `HOST:PORT` or nothing (a free port of this machine). Addresses that others can
/// reach are refused unless `remote`.
pub fn parse_address(text: &str, remote: bool) -> Result<Listen, String> {
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let address = match text {
        "" => local(0),
        text => match text.parse::<u16>() {
            Ok(port) => local(port),
            Err(_) => text
                .to_socket_addrs()
                .ok()
                .and_then(|mut all| all.next())
                .ok_or_else(|| {
                    format!("{text}: an address is PORT or HOST:PORT, e.g. 127.0.0.1:7000")
                })?,
        },
    };
    if !address.ip().is_loopback() && !remote {
        return Err(format!(
            "{address} can be reached by other machines: whoever has the page's address commands \
             the program; add --web-remote if that is what you want"
        ));
    }
    Ok(Listen { address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_refused_without_the_option() {
        let local = |port| {
            Ok(Listen {
                address: SocketAddr::from(([127, 0, 0, 1], port)),
            })
        };
        assert_eq!(parse_address("", false), local(0));
        assert_eq!(parse_address("7000", false), local(7000));
        assert_eq!(parse_address("127.0.0.1:7000", false), local(7000));
        assert!(parse_address("[::1]:7000", false).is_ok());
        assert!(parse_address("0.0.0.0:7000", false).is_err());
        assert!(parse_address("0.0.0.0:7000", true).is_ok());
        assert!(parse_address("nonsense", false).is_err());
    }
}
