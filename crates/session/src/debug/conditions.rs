//! Conditions of breakpoints. Each place has variables of its own: a template's instances and
//! inlined calls have others of the same names.

use super::Debugger;
use super::failure::{Failure, Result, failure};
use super::points::{Condition, Kind, Point, Site, Test};
use std::sync::Arc;
use verde_engine::Cause;
use verde_expr::{FrameScope, Node};
use verde_symbols::{FileAddr, Frame, Modules, Registers};

/// Where a condition makes no sense, by the number of the place from 1, and why.
type Refused = Vec<(usize, Failure)>;

impl Point {
    /// What to test where it was hit. `None`: it has no condition; nothing inside: that could
    /// not be bound.
    pub(super) fn test(&self, cause: &Cause) -> Option<Option<Arc<Node>>> {
        let condition = self.condition.as_ref()?;
        let Kind::Code { sites, .. } = &self.kind else {
            return Some(condition.node.clone());
        };
        let is_hit = |s: &&Site| matches!(cause, Cause::Trap { id } if s.trap == Some(*id));
        let site = sites.iter().find(is_hit).or(sites.first());
        Some(site.and_then(|s| match &s.test {
            Test::Bound(node) => Some(node.clone()),
            Test::Unknown | Test::Invalid => None,
        }))
    }
}

impl Debugger {
    /// The condition of a new breakpoint, bound at each of its places.
    pub(super) fn new_condition(
        &mut self,
        spec: &str,
        sites: &mut [Site],
        text: &str,
    ) -> Result<Condition> {
        for (place, why) in self.bind_at_all(spec, sites, text)? {
            self.say_refused(&place.to_string(), &why)?;
        }
        Ok(Condition {
            text: text.to_owned(),
            node: None,
            function: None,
        })
    }

    fn say_refused(&mut self, place: &str, why: &Failure) -> Result<()> {
        self.say(&format!(
            "warning: failed to validate condition at location {place}, disabling:\n  {why}"
        ))
    }

    /// Binds a condition at all places; those where it makes no sense. It is a failure if that
    /// is so at all of them.
    fn bind_at_all(&mut self, spec: &str, sites: &mut [Site], text: &str) -> Result<Refused> {
        let mut refused = Refused::new();
        let mut tests = Vec::new();
        for (place, site) in sites.iter().enumerate() {
            let frame = self.frame_of_place(spec, site);
            tests.push(match self.bind_ahead(text, frame) {
                Ok(node) => Test::Bound(Arc::new(node)),
                Err(why) => {
                    refused.push((place + 1, why));
                    Test::Invalid
                }
            });
        }
        if refused.len() == sites.len()
            && let Some((_, why)) = refused.pop()
        {
            return Err(refused.into_iter().next().map_or(why, |(_, first)| first));
        }
        for (site, test) in sites.iter_mut().zip(tests) {
            site.test = test;
        }
        Ok(refused)
    }

    /// Conditions of breakpoints that have found more of their places.
    pub(super) fn bind_late(&mut self) {
        for index in 0..self.points.list.len() {
            let point = &mut self.points.list[index];
            let (Kind::Code { spec, sites }, Some(condition)) = (&point.kind, &point.condition)
            else {
                continue;
            };
            if !sites.iter().any(|s| matches!(s.test, Test::Unknown)) {
                continue;
            }
            let (spec, mut sites, text) = (spec.clone(), sites.clone(), condition.text.clone());
            // One that makes no sense anywhere is told when a place is reached.
            if let Err(why) = self.bind_at_all(&spec, &mut sites, &text) {
                tracing::debug!(%why, "a condition is not bound");
            }
            if let Kind::Code { sites: now, .. } = &mut self.points.list[index].kind {
                *now = sites;
            }
        }
    }

    /// An expression bound to the variables that are visible in a frame.
    fn bind_ahead(&mut self, text: &str, frame: Option<FrameScope>) -> Result<Node> {
        let without_states = self.with_states(text, true)?;
        let text = without_states.as_deref().unwrap_or(text);
        Ok(self.compile_ahead(text, frame)?)
    }

    /// The frame that a program will have at a place, without values.
    fn frame_of_place(&self, spec: &str, site: &Site) -> Option<FrameScope> {
        let pc = self.address(site)?;
        let (module, bias) = self.images.module_at(pc)?;
        let innermost = || module.frames_at(FileAddr::of(pc, bias)).into_iter().next();
        let source = self.frame_meant(spec, pc).or_else(innermost);
        Some(FrameScope {
            frame: Frame {
                registers: Registers::default(),
                pc,
                cfa: None,
                is_exact: true,
                is_signal: false,
                has_jumped: false,
                method: None,
                module: Some((module, bias)),
            },
            source,
            at_entry: false,
            entry: None,
        })
    }

    pub(super) fn condition(&mut self, args: &str) -> Result<()> {
        let (number, text) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        let Ok(number) = self.point_number(number) else {
            return failure("Which breakpoint?  condition NUMBER [CONDITION]");
        };
        let text = text.trim();
        match &self.points.get_mut(number)?.kind {
            Kind::Code { spec, sites } => {
                let (spec, sites) = (spec.clone(), sites.clone());
                self.condition_of_code(number, &spec, sites, text)?;
            }
            _ if text.is_empty() => self.points.get_mut(number)?.condition = None,
            Kind::Watch(_) => {
                let condition = self.bind_watch(number, text)?;
                self.points.get_mut(number)?.condition = Some(condition);
            }
            Kind::Catch(_) => {
                let node = Some(Arc::new(self.bind_ahead(text, None)?));
                self.points.get_mut(number)?.condition = Some(Condition {
                    text: text.to_owned(),
                    node,
                    function: None,
                });
            }
        }
        match text.is_empty() {
            true => self.say(&format!("Breakpoint {number} now unconditional.")),
            false => Ok(()),
        }
    }

    fn condition_of_code(
        &mut self,
        number: u32,
        spec: &str,
        mut sites: Vec<Site>,
        text: &str,
    ) -> Result<()> {
        let was_invalid: Vec<bool> = sites.iter().map(Site::is_invalid).collect();
        let refused = match text.is_empty() {
            true => {
                sites.iter_mut().for_each(|s| s.test = Test::Unknown);
                Refused::new()
            }
            false => self.bind_at_all(spec, &mut sites, text)?,
        };
        for (place, why) in refused {
            if !was_invalid[place - 1] {
                self.say_refused(&format!("{number}.{place}"), &why)?;
            }
        }
        for (place, (site, was)) in (1..).zip(sites.iter().zip(was_invalid)) {
            if was && !site.is_invalid() {
                self.say(&format!(
                    "Breakpoint {number}'s condition is now valid at location {place}, enabling."
                ))?;
            }
        }
        // Other places than before may be ones to stop at.
        self.disarm(number)?;
        let point = self.points.get_mut(number)?;
        point.condition = (!text.is_empty()).then(|| Condition {
            text: text.to_owned(),
            node: None,
            function: None,
        });
        if let Kind::Code { sites: now, .. } = &mut point.kind {
            for (site, new) in now.iter_mut().zip(sites) {
                site.test = new.test;
            }
        }
        self.arm()
    }
}
