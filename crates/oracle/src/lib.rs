//! gdb, as tests and measurements start it.

use std::process::Command;

/// The library that gdb is started with where it would fail without.
const WHOLE_STATE: &str = concat!(env!("OUT_DIR"), "/whole_state.so");

/// gdb 13 cannot write the registers of a CPU with more of them than it knows, so calls in the
/// program and checkpoints fail there.
fn has_unknown_registers() -> bool {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpu.split_whitespace().any(|flag| flag == "amx_tile")
}

/// gdb, such that it works on this machine. The program that it debugs does not notice.
pub fn gdb() -> Command {
    let mut gdb = Command::new("gdb");
    if has_unknown_registers() {
        gdb.env("LD_PRELOAD", WHOLE_STATE);
    }
    gdb
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also on a machine where gdb fails without the library.
    #[test]
    fn gdb_calls_functions() -> std::io::Result<()> {
        let output = gdb()
            .args(["-q", "-nx", "-batch", "-iex", "set debuginfod enabled off"])
            .args(["-ex", "break main", "-ex", "run"])
            .args(["-ex", "print (int)getppid() > 0", "-ex", "print 7"])
            .args(["-ex", "print (char*)getenv(\"LD_PRELOAD\")"])
            .arg(std::env::current_exe()?)
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        for answer in ["$1 = 1", "$2 = 7", "$3 = 0x0"] {
            assert!(said.contains(answer), "{answer} in:\n{said}");
        }
        Ok(())
    }
}
