//! The options of the live page.

use clap::Args;
use std::ffi::OsString;
use std::io::Write;
use verde_cli::Web;

/// The live page
#[derive(Args)]
pub struct WebArgs {
    /// Serve the live page: graph, slices, events, program and controls in a browser. ADDR is
    /// PORT or HOST:PORT; a free port of this machine without it
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    web: Option<String>,
    /// Let other machines open the page: whoever knows its address commands the program
    #[arg(long, requires = "web")]
    web_remote: bool,
}

/// `--web ADDR` as `--web=ADDR`. What follows a bare `--web` may as well be the program, so only
/// what reads as a port or ends in one is taken for an address.
pub fn joined(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::new();
    let mut options = true;
    for arg in args {
        let after_web = options && out.last().is_some_and(|last| last == "--web");
        if after_web && arg.to_str().is_some_and(is_address) {
            out.pop();
            let mut whole = OsString::from("--web=");
            whole.push(arg);
            out.push(whole);
            continue;
        }
        options &= arg != "--";
        out.push(arg);
    }
    out
}

fn is_address(text: &str) -> bool {
    let port = text.rsplit(':').next().unwrap_or(text);
    port.parse::<u16>().is_ok()
}

impl From<WebArgs> for Web {
    fn from(a: WebArgs) -> Web {
        let (text, remote) = (a.web.clone().unwrap_or_default(), a.web_remote);
        Web {
            at_once: a.web.is_some(),
            opener: Some(Box::new(move |board| {
                let listen = verde_web::parse_address(&text, remote)?;
                let url = verde_web::serve(board, &listen)?;
                if !listen.address.ip().is_loopback() {
                    let _ = writeln!(
                        std::io::stderr(),
                        "verde: warning: other machines can open the page; whoever knows its \
                         address commands the program"
                    );
                }
                verde_web::open_browser(&url);
                Ok(url)
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_from_a_program() {
        let join = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            joined(words).join(" ".as_ref())
        };
        assert_eq!(join("check --web ./prog 7000"), "check --web ./prog 7000");
        assert_eq!(join("check --web 7000 ./prog"), "check --web=7000 ./prog");
        let full = "debug --web=127.0.0.1:0 ./prog";
        assert_eq!(join("debug --web 127.0.0.1:0 ./prog"), full);
        assert_eq!(join("check -- p --web 7000"), "check -- p --web 7000");
    }
}
