//! The Python plugin is not a dependency that cargo knows of: it is built beside the program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn plugin() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut c = Command::new(env!("CARGO"));
        c.args(["build", "--quiet", "-p", "verde-python"]);
        if !cfg!(debug_assertions) {
            c.arg("--release");
        }
        let built = c.current_dir(root()).status().expect("cargo runs");
        assert!(built.success(), "the Python plugin does not build");
    });
}
