//! The block scanner on all of Python's standard library: each file, put
//! between braces, must end exactly where it ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use verde_property::scan::block_end;

fn python_files(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for e in entries.flatten() {
        let path = e.path();
        if path.is_dir() && !path.is_symlink() {
            python_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "py") {
            out.push(path);
        }
    }
}

#[test]
fn standard_library() {
    let out = Command::new("python3")
        .args([
            "-c",
            "import sysconfig; print(sysconfig.get_path('stdlib'))",
        ])
        .output()
        .expect("python3 is installed by `make test`");
    let dir = String::from_utf8(out.stdout).unwrap();
    let mut files = Vec::new();
    python_files(Path::new(dir.trim()), &mut files);
    files.sort();
    assert!(files.len() > 300, "{} files in {dir}", files.len());
    let mut checked = 0;
    for f in files {
        let Ok(text) = std::fs::read_to_string(&f) else {
            continue;
        };
        // Files that are wrong on purpose, and blocks longer than allowed, are not Python blocks.
        let name = f.display().to_string();
        if text.len() > 60_000
            || name.contains("bad")
            || name.contains("lib2to3/tests")
            || name.contains("site-packages")
        {
            continue;
        }
        let block = format!("{text}\n}} rest");
        match block_end(&block, 0) {
            Ok(s) => assert_eq!(s.end, text.len() + 1, "{name}"),
            Err(e) => panic!("{name}: {} at {}", e.message, e.at),
        }
        checked += 1;
    }
    assert!(checked > 250, "{checked} files were checked");
}
