//! Compiles what gdb needs on some machines.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = "src/whole_state.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let dir = std::env::var_os("OUT_DIR").expect("cargo says where");
    let done = Command::new("cc")
        .args(["-O1", "-Wall", "-shared", "-fPIC", SOURCE, "-o"])
        .arg(Path::new(&dir).join("whole_state.so"))
        .status();
    assert!(done.is_ok_and(|d| d.success()), "cc compiles {SOURCE}");
}
