//! Breakpoints: set, change, forget, put into the process.

use super::Debugger;
use super::failure::{Failure, Result, failure};
use super::location::{Spec, offset, take_condition};
use super::numbers::of_displays;
use super::points::{Kind, Point, Site};
use verde_engine::{Addr, On, Owner, Tid, Trap};
use verde_symbols::{FileAddr, LineSpan, Modules};

/// What scripts wait for, though the CPU's registers are not needed.
const HARDWARE: &str = "Hardware assisted breakpoint";

impl Debugger {
    pub(super) fn set_break(&mut self, args: &str) -> Result<()> {
        self.add_break(args, false, "Breakpoint")
    }

    pub(super) fn set_tbreak(&mut self, args: &str) -> Result<()> {
        self.add_break(args, true, "Temporary breakpoint")
    }

    pub(super) fn set_hbreak(&mut self, args: &str) -> Result<()> {
        self.add_break(args, false, HARDWARE)
    }

    pub(super) fn set_thbreak(&mut self, args: &str) -> Result<()> {
        self.add_break(args, true, HARDWARE)
    }

    fn add_break(&mut self, args: &str, temporary: bool, title: &str) -> Result<()> {
        let (number, text) = self.place_break(args, temporary)?;
        self.say(&format!("{title} {number}{text}"))
    }

    /// A new breakpoint, and where it is in words.
    pub(super) fn place_break(&mut self, args: &str, temporary: bool) -> Result<(u32, String)> {
        let (place, condition) = take_condition(args)?;
        let (place, thread) = self.split_thread(place)?;
        let spec = match place {
            "" => self.here_as_location()?,
            place => self.settled(place)?,
        };
        let mut sites = match self.sites(&spec) {
            Err(e) if self.settings.pending && !spec.starts_with('*') => {
                self.say(&e.to_string())?;
                Vec::new()
            }
            sites => sites?,
        };
        let condition = match condition {
            Some(text) => Some(self.new_condition(&spec, &mut sites, text)?),
            None => None,
        };
        let text = self.describe_sites(&spec, &sites);
        let kind = Kind::Code { spec, sites };
        let number = self.add_point(kind, temporary, condition);
        self.points.get_mut(number)?.thread = thread;
        if let Err(e) = self.arm() {
            self.remove_point(number)?;
            return Err(e);
        }
        Ok((number, text))
    }

    /// Takes `thread N` off the end of a location.
    fn split_thread<'a>(&self, place: &'a str) -> Result<(&'a str, Option<(usize, Tid)>)> {
        let words = place.rsplit_once(char::is_whitespace);
        let (place, number) = match words.map(|(head, last)| (head.trim_end(), last)) {
            Some(("thread", number)) => ("", number),
            Some((head, number)) => match head.strip_suffix(" thread") {
                Some(place) => (place.trim_end(), number),
                None => return Ok((place, None)),
            },
            None => return Ok((place, None)),
        };
        let tid = number.parse::<usize>().ok().and_then(|n| {
            let tid = self.live.as_ref()?.process.thread_by_number(n)?;
            Some((n, tid))
        });
        match tid {
            Some(thread) => Ok((place, Some(thread))),
            None => failure(format!("Unknown thread {number}.")),
        }
    }

    fn here_as_location(&self) -> Result<String> {
        match &self.live {
            Some(live) => Ok(format!("*{:#x}", live.frame(live.selected)?.pc)),
            None => failure("Where?  Name a function, FILE:LINE or *ADDRESS."),
        }
    }

    /// Where a place is now; `None` when its file is not loaded.
    pub(super) fn address(&self, site: &Site) -> Option<u64> {
        match &site.module {
            Some(module) => Some(site.addr.at(self.images.bias(module)?)),
            None => Some(site.addr.0),
        }
    }

    pub(super) fn line_at(&self, addr: u64) -> Option<LineSpan> {
        let (module, bias) = self.images.module_at(addr)?;
        module.line_at(FileAddr::of(addr, bias))
    }

    fn describe_sites(&self, spec: &str, sites: &[Site]) -> String {
        let Some(addr) = sites.first().and_then(|s| self.address(s)) else {
            let named = self.functions(spec).unwrap_or_default();
            return match named.is_empty() {
                true => format!(" ({spec}) pending until its library is loaded."),
                false => format!(" ({spec}) pending until the program chooses its code."),
            };
        };
        let at = match self.settings.print.addresses {
            true => format!(" at {addr:#x}"),
            false => String::new(),
        };
        if sites.len() > 1 {
            return format!("{at}: {spec}. ({} locations)", sites.len());
        }
        let line = self.frame_meant(spec, addr).and_then(|f| f.line);
        let line = line.or_else(|| sites.first().and_then(|s| s.line.clone()));
        let line = line.or_else(|| self.line_at(addr).map(|s| (s.file, s.line)));
        match line {
            Some((file, line)) => format!("{at}: file {}, line {line}.", file.name),
            None => at,
        }
    }

    /// Libraries came or went: locations may mean more or less than before.
    pub(super) fn images_changed(&mut self) -> Result<()> {
        self.hot.forget();
        if let Some(live) = &self.live {
            self.images.refresh(&live.process);
        }
        self.locate_again();
        self.rebind_monitors();
        self.arm()
    }

    /// Looks the places of breakpoints up where they are not fixed.
    pub(super) fn locate_again(&mut self) {
        for index in 0..self.points.list.len() {
            let spec = match &self.points.list[index].kind {
                Kind::Code { spec, .. } if !spec.starts_with('*') => spec.clone(),
                _ => continue,
            };
            let Ok(now) = self.sites(&spec) else { continue };
            if let Kind::Code { sites, .. } = &mut self.points.list[index].kind {
                let fresh = now
                    .into_iter()
                    .filter(|n| !sites.iter().any(|s| s.same_place(n)));
                let fresh: Vec<Site> = fresh.collect();
                sites.extend(fresh);
            }
        }
        self.forget_unloaded();
        self.bind_late();
    }

    /// Traps go with the library that they are in; it may come again.
    fn forget_unloaded(&mut self) {
        let Some(live) = &self.live else {
            return;
        };
        let traps = live.process.traps();
        for point in &mut self.points.list {
            if let Kind::Code { sites, .. } = &mut point.kind {
                for site in sites {
                    site.trap = site.trap.filter(|id| traps.get(*id).is_some());
                }
            }
        }
    }

    /// Puts every enabled breakpoint and watchpoint into the process.
    pub(super) fn arm(&mut self) -> Result<()> {
        for index in 0..self.points.list.len() {
            if !self.points.list[index].enabled {
                continue;
            }
            if matches!(self.points.list[index].kind, Kind::Watch(_)) {
                self.arm_watch(index)?;
                continue;
            }
            self.arm_catch(index)?;
            let thread = self.points.list[index].thread;
            let number = self.points.list[index].number;
            let Kind::Code { sites, .. } = &self.points.list[index].kind else {
                continue;
            };
            let wanted: Vec<Option<u64>> = sites
                .iter()
                .map(|s| self.address(s).filter(|_| s.trap.is_none() && s.is_stop()))
                .collect();
            let Some(live) = &mut self.live else { continue };
            let Kind::Code { sites, .. } = &mut self.points.list[index].kind else {
                continue;
            };
            for (site, at) in sites.iter_mut().zip(wanted) {
                if let Some(at) = at {
                    let mut trap = Trap::new(On::Exec(Addr(at)), Owner::User);
                    trap.thread = thread.map(|(_, tid)| tid);
                    let inserted = live.process.insert(trap);
                    site.trap =
                        Some(inserted.map_err(|e| {
                            Failure(format!("Cannot insert breakpoint {number}: {e}"))
                        })?);
                }
            }
        }
        Ok(())
    }

    /// Takes a breakpoint's traps out of the process.
    pub(super) fn disarm(&mut self, number: u32) -> Result<()> {
        let point = self.points.get_mut(number)?;
        let traps = point.traps();
        point.forget_traps();
        if let Some(live) = &mut self.live {
            for id in traps {
                match live.process.remove(id) {
                    Ok(()) | Err(verde_engine::Error::NoTrap(_) | verde_engine::Error::Gone) => {}
                    Err(e) => return Err(e.into()),
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove_point(&mut self, number: u32) -> Result<()> {
        self.disarm(number)?;
        self.points.list.retain(|p| p.number != number);
        Ok(())
    }

    pub(super) fn delete(&mut self, args: &str) -> Result<()> {
        if let Some(numbers) = Debugger::of_checkpoints(args) {
            return self.delete_checkpoints(numbers);
        }
        if let Some(numbers) = of_displays(args) {
            return self.undisplay(numbers);
        }
        for number in self.named_points(args)? {
            self.remove_point(number)?;
        }
        Ok(())
    }

    /// Forgets the breakpoints at a place.
    pub(super) fn clear(&mut self, args: &str) -> Result<()> {
        let places = match args {
            "" => {
                let Some((file, line)) = self.current_line() else {
                    return failure("No source file specified.");
                };
                self.sites(&format!("{}:{line}", file.name))?
            }
            text => {
                let place = self.settled(text)?;
                self.sites(&place)?
            }
        };
        let of_line = |at: u64| self.line_at(at).map(|s| (s.file.path.clone(), s.line));
        let by_line = args.is_empty()
            || offset(args).is_some()
            || matches!(Spec::parse(args), Spec::Line(..));
        let at: Vec<u64> = places.iter().filter_map(|s| self.address(s)).collect();
        let there = |point: &Point| match &point.kind {
            Kind::Code { sites, .. } => sites.iter().filter_map(|s| self.address(s)).any(|a| {
                let same = |b: &u64| of_line(a).is_some() && of_line(a) == of_line(*b);
                at.contains(&a) || (by_line && at.iter().any(same))
            }),
            Kind::Watch(_) | Kind::Catch(_) => false,
        };
        let all = self.points.list.iter();
        let numbers: Vec<u32> = all.filter(|p| there(p)).map(|p| p.number).collect();
        let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
        for number in &numbers {
            self.remove_point(*number)?;
        }
        match texts.as_slice() {
            [] if args.is_empty() => failure("No breakpoint at this line."),
            [] => failure(format!("No breakpoint at {args}.")),
            [one] => self.say(&format!("Deleted breakpoint {one}")),
            several => self.say(&format!("Deleted breakpoints {}", several.join(" "))),
        }
    }

    /// A number, or a variable for one: `$bpnum`.
    pub(super) fn point_number(&mut self, text: &str) -> Result<u32> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | '_');
        if !text.chars().all(is_plain) {
            return failure(format!("Bad breakpoint number '{text}'"));
        }
        match u32::try_from(self.number(text)?) {
            Ok(number) => Ok(number),
            Err(_) => failure(format!("No breakpoint number {text}.")),
        }
    }

    pub(super) fn ignore(&mut self, args: &str) -> Result<()> {
        let mut words = args.split_whitespace();
        let numbers = (
            words.next().and_then(|w| self.point_number(w).ok()),
            words.next().and_then(|w| w.parse::<u64>().ok()),
        );
        let (Some(number), Some(count)) = numbers else {
            return failure("Which, and how often?  ignore NUMBER COUNT");
        };
        self.points.get_mut(number)?.ignore = count;
        self.say(&match count {
            0 => format!("Will stop next time breakpoint {number} is reached."),
            1 => format!("Will ignore next crossing of breakpoint {number}."),
            _ => format!("Will ignore next {count} crossings of breakpoint {number}."),
        })
    }

    /// The breakpoint the program stands at is to be passed some times.
    pub(super) fn ignore_here(&mut self, count: u64) -> Result<()> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let pc = live.frame(0)?.pc;
        let here = |d: &Debugger, k: &Kind| match k {
            Kind::Code { sites, .. } => sites.iter().any(|s| d.address(s) == Some(pc)),
            Kind::Watch(_) | Kind::Catch(_) => false,
        };
        let all = self.points.list.iter();
        let numbers: Vec<u32> = all
            .filter(|p| here(self, &p.kind))
            .map(|p| p.number)
            .collect();
        for number in numbers {
            self.points.get_mut(number)?.ignore = count;
        }
        Ok(())
    }
}
