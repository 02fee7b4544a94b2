//! Where libpython and the plugin are.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The plugin's file name.
pub const PLUGIN: &str = "libverde_python.so";

/// Names to try for libpython, best first: the user's choice, then the dynamic
/// linker's own search from new to old. What the `python3` of the PATH uses is
/// asked only when these fail, since that takes a process.
pub fn libpython_names() -> Vec<PathBuf> {
    if let Some(chosen) = std::env::var_os("VERDE_LIBPYTHON") {
        return vec![PathBuf::from(chosen)];
    }
    (9..=14)
        .rev()
        .map(|minor| PathBuf::from(format!("libpython3.{minor}.so.1.0")))
        .collect()
}

pub fn libpython_of_path() -> Option<PathBuf> {
    if std::env::var_os("VERDE_LIBPYTHON").is_some() {
        return None;
    }
    const ASK: &str = "import sysconfig as s, os; \
                       print(os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('INSTSONAME') or ''))";
    let out = Command::new("python3")
        .args(["-c", ASK])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(out.stdout).ok()?.trim());
    path.is_file().then_some(path)
}

/// Places of the plugin: `VERDE_PYTHON`, beside the program, `../lib/verde/`.
pub fn plugin_paths() -> Vec<PathBuf> {
    if let Some(chosen) = std::env::var_os("VERDE_PYTHON") {
        return vec![PathBuf::from(chosen)];
    }
    let mut paths = Vec::new();
    if let Ok(exe) = std::env::current_exe()
        && let Some(dir) = exe.parent()
    {
        paths.push(dir.join(PLUGIN));
        // Cargo puts test programs one folder below.
        if dir.ends_with("deps")
            && let Some(up) = dir.parent()
        {
            paths.push(up.join(PLUGIN));
        }
        paths.push(dir.join("../lib/verde").join(PLUGIN));
    }
    paths
}
