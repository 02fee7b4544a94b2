//! Scripts: what the kernel runs in their place is the program.

use std::io::Read;
use std::path::Path;

/// As much of a file as the kernel looks at.
const LOOKED_AT: u64 = 256;

/// `/bin/sh -e` of a file that begins with `#!/bin/sh -e`.
pub fn interpreter(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = String::from_utf8_lossy(line).trim().to_owned();
    (!line.is_empty()).then_some(line)
}
