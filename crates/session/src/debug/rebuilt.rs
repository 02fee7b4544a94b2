//! A program that was built again since its files were read.

use super::Debugger;
use super::failure::Result;
use super::points::Kind;
use std::sync::Arc;
use verde_expr::compile;

impl Debugger {
    /// Before a start: files that changed are read again, and everything that was looked up in
    /// them is looked up anew.
    pub(super) fn notice_rebuilt(&mut self) -> Result<()> {
        self.sources.forget();
        let changed = self.images.reread()?;
        if changed.is_empty() {
            return Ok(());
        }
        for path in changed {
            let text = format!("`{}' has changed; re-reading symbols.", path.display());
            self.say(&text)?;
        }
        self.hot.forget();
        self.displays.forget_variables();
        if self.forget_checkpoints() > 0 {
            self.say("The checkpoints are deleted: they are of the former program.")?;
        }
        for index in 0..self.points.list.len() {
            if let Err(e) = self.look_up_again(index) {
                let number = self.points.list[index].number;
                self.say(&format!("Error in re-setting breakpoint {number}: {e}"))?;
            }
        }
        self.bind_late();
        Ok(())
    }

    fn look_up_again(&mut self, index: usize) -> Result<()> {
        let point = &mut self.points.list[index];
        match &mut point.kind {
            Kind::Code { spec, sites } => {
                let spec = spec.clone();
                sites.clear();
                let now = self.sites(&spec)?;
                if let Kind::Code { sites, .. } = &mut self.points.list[index].kind {
                    *sites = now;
                }
            }
            Kind::Watch(watch) => {
                let text = watch.text.clone();
                let condition = point.condition.as_ref().map(|c| c.text.clone());
                let here = self.here();
                let node = compile(&text, &here)?;
                let condition = match condition {
                    Some(text) => Some(Arc::new(compile(&text, &here)?)),
                    None => None,
                };
                let point = &mut self.points.list[index];
                if let Kind::Watch(watch) = &mut point.kind {
                    watch.node = node;
                    watch.old = None;
                }
                if let Some(old) = &mut point.condition {
                    old.node = condition;
                }
            }
            Kind::Catch(_) => {}
        }
        Ok(())
    }
}
