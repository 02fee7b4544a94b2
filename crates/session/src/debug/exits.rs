//! Functions that leave frames without returning from them.

use super::Debugger;
use super::failure::Result;
use super::images::Images;
use verde_engine::Addr;

/// As far as a program has them.
const JUMPS: [&str; 4] = ["longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"];
const CATCHES: [&str; 1] = ["__cxa_begin_catch"];
/// How libgcc's unwinder is told where it goes on, in C++ and in Rust.
const LANDINGS: [&str; 1] = ["_Unwind_SetIP"];
/// Where they end is known only if one of those is called.
const THROWS: [&str; 2] = ["_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow"];

impl Debugger {
    /// Tells the engine where they are, for the steps that follow.
    pub(super) fn observe_exits(&mut self) -> Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        // Nothing was loaded since the last step.
        if std::mem::replace(&mut live.exits_of, self.images.loaded().len())
            == self.images.loaded().len()
        {
            return Ok(());
        }
        let jumps = self.images.functions_named(&JUMPS);
        let catches = self.images.functions_named(&CATCHES);
        let landings = self.images.functions_named(&LANDINGS);
        let throws = self.images.functions_named(&THROWS);
        live.process.observe_jumps(&jumps)?;
        live.process.observe_catches(&catches)?;
        live.process.observe_landings(&landings)?;
        live.process.observe_exits(&throws)?;
        Ok(())
    }
}

impl Images {
    fn functions_named(&self, names: &[&str]) -> Vec<Addr> {
        let mut found = Vec::new();
        for loaded in self.loaded() {
            let all = loaded.module.symbols().iter();
            let fitting = all.filter(|s| s.is_code && names.contains(&s.name) && s.addr.0 != 0);
            let own = fitting.filter(|s| !loaded.module.is_plt(s.addr));
            found.extend(own.map(|s| Addr(s.addr.at(loaded.bias))));
        }
        found.sort();
        found.dedup();
        found
    }
}
