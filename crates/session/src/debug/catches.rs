//! Catchpoints: stops at system calls, signals, forks, execs and libraries.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use super::points::{After, Kind, Point};
use verde_engine::{Cause, ForkKind, On, Owner, Tid, Trap, TrapId};
use verde_sys::{number, signals, syscalls};

/// What a catchpoint waits for.
pub(super) enum Event {
    /// Begin and end of these system calls; of all for none.
    Syscall(Vec<u64>),
    Signal(Signals),
    Fork,
    Vfork,
    Exec,
    /// A library whose path contains the text.
    Load(String),
    Unload(String),
}

pub(super) enum Signals {
    /// All that are not a debugger's business.
    Standard,
    Any,
    These(Vec<i32>),
}

pub(super) struct Catch {
    pub on: Event,
    pub traps: Vec<TrapId>,
}

/// What a catchpoint is called when it is hit.
pub(super) fn catch_title(point: &Point) -> &'static str {
    match point.after {
        After::Delete => "Temporary catchpoint",
        After::Keep | After::Disable => "Catchpoint",
    }
}

const KINDS: &str = "syscall [NAME or NUMBER]..., signal [SIGNAL]..., fork, vfork, exec, \
                     load [TEXT], unload [TEXT], throw [TYPE], catch [TYPE], rethrow [TYPE]";

impl Event {
    fn parse(word: &str, rest: &str) -> Result<Event> {
        Ok(match word {
            "syscall" => {
                let calls = rest.split_whitespace().map(syscall);
                Event::Syscall(calls.collect::<Result<_>>()?)
            }
            "signal" => Event::Signal(match rest {
                "" => Signals::Standard,
                "all" => Signals::Any,
                names => {
                    let numbers = names.split_whitespace().map(|n| match signals::by_name(n) {
                        Some(signal) => Ok(signal),
                        None => failure(format!("Unknown signal name '{n}'.")),
                    });
                    Signals::These(numbers.collect::<Result<_>>()?)
                }
            }),
            "fork" => Event::Fork,
            "vfork" => Event::Vfork,
            "exec" => Event::Exec,
            "load" => Event::Load(rest.to_owned()),
            "unload" => Event::Unload(rest.to_owned()),
            _ => return failure(format!("Catch what?  catch {KINDS}")),
        })
    }

    /// As a new catchpoint is announced.
    fn title(&self) -> String {
        match self {
            Event::Syscall(calls) => match calls.as_slice() {
                [] => "any syscall".to_owned(),
                calls => {
                    let each = calls.iter().map(|n| format!("'{}' [{n}]", call_name(*n)));
                    let each: Vec<String> = each.collect();
                    let plural = if each.len() > 1 { "s" } else { "" };
                    format!("syscall{plural} {}", each.join(" "))
                }
            },
            Event::Signal(Signals::Standard) => "standard signals".to_owned(),
            Event::Signal(Signals::Any) => "any signal".to_owned(),
            Event::Signal(Signals::These(list)) => match list.as_slice() {
                [one] => format!("signal {}", signals::name(*one)),
                list => format!("signals {}", signal_names(list)),
            },
            Event::Fork => "fork".to_owned(),
            Event::Vfork => "vfork".to_owned(),
            Event::Exec => "exec".to_owned(),
            Event::Load(_) => "load".to_owned(),
            Event::Unload(_) => "unload".to_owned(),
        }
    }

    /// As `info breakpoints` describes it.
    pub fn what(&self) -> String {
        match self {
            Event::Syscall(calls) => match calls.as_slice() {
                [] => "syscall \"<any syscall>\" ".to_owned(),
                [one] => format!("syscall \"{}\" ", call_name(*one)),
                several => {
                    let names: Vec<String> = several.iter().map(|n| call_name(*n)).collect();
                    format!("syscalls \"{}\" ", names.join(", "))
                }
            },
            Event::Signal(Signals::Standard) => "signal \"<standard signals>\" ".to_owned(),
            Event::Signal(Signals::Any) => "signal \"<any signal>\" ".to_owned(),
            Event::Signal(Signals::These(list)) => match list.as_slice() {
                [one] => format!("signal \"{}\" ", signals::name(*one)),
                list => format!("signals \"{}\" ", signal_names(list)),
            },
            Event::Load(text) | Event::Unload(text) => {
                let of = match text.as_str() {
                    "" => "of library".to_owned(),
                    text => format!("of library matching {text}"),
                };
                format!("{} {of}", self.title())
            }
            _ => self.title(),
        }
    }

    /// The engine's traps that report it.
    fn traps(&self) -> Vec<On> {
        match self {
            Event::Syscall(calls) if calls.is_empty() => vec![On::Syscall(None)],
            Event::Syscall(calls) => calls.iter().map(|n| On::Syscall(Some(*n))).collect(),
            Event::Signal(Signals::These(list)) => list.iter().map(|s| On::Signal(*s)).collect(),
            Event::Signal(Signals::Any) => (1..=64).map(On::Signal).collect(),
            Event::Signal(Signals::Standard) => (1..=64)
                .filter(|s| ![number::SIGTRAP, number::SIGINT].contains(s))
                .map(On::Signal)
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn signal_names(list: &[i32]) -> String {
    let names: Vec<String> = list.iter().map(|s| signals::name(*s)).collect();
    names.join(" ")
}

pub(super) fn call_name(number: u64) -> String {
    match syscalls::name(number) {
        Some(name) => name.to_owned(),
        None => number.to_string(),
    }
}

fn syscall(word: &str) -> Result<u64> {
    match word.parse().ok().or_else(|| syscalls::by_name(word)) {
        Some(number) => Ok(number),
        None => failure(format!("Unknown syscall name '{word}'.")),
    }
}

impl Debugger {
    pub(super) fn set_catch(&mut self, args: &str) -> Result<()> {
        self.add_catch(args, false)
    }

    pub(super) fn set_tcatch(&mut self, args: &str) -> Result<()> {
        self.add_catch(args, true)
    }

    fn add_catch(&mut self, args: &str, temporary: bool) -> Result<()> {
        let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if self.catch_exception(word, rest, temporary)? {
            return Ok(());
        }
        let on = Event::parse(word, rest.trim())?;
        let title = on.title();
        let traps = Vec::new();
        let kind = Kind::Catch(Catch { on, traps });
        let number = self.add_point(kind, temporary, None);
        if let Err(e) = self.arm() {
            self.remove_point(number)?;
            return Err(e);
        }
        self.say(&format!("Catchpoint {number} ({title})"))
    }

    /// Puts a catchpoint's traps into the process.
    pub(super) fn arm_catch(&mut self, index: usize) -> Result<()> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let Kind::Catch(catch) = &mut self.points.list[index].kind else {
            return Ok(());
        };
        if matches!(catch.on, Event::Fork | Event::Vfork) {
            live.process.options.report_forks = true;
        }
        if !catch.traps.is_empty() {
            return Ok(());
        }
        for on in catch.on.traps() {
            let id = live.process.insert(Trap::new(on, Owner::User))?;
            catch.traps.push(id);
        }
        Ok(())
    }

    /// What to say of a catchpoint's stop, before the frame.
    pub(super) fn catch_text(&self, point: &Point, cause: &Cause) -> String {
        let (title, number) = (catch_title(point), point.number);
        let what = match *cause {
            Cause::Syscall { number, value, .. } => match value {
                None => format!("call to syscall {}", call_name(number)),
                Some(_) => format!("returned from syscall {}", call_name(number)),
            },
            Cause::Fork { child, kind, .. } => match kind {
                ForkKind::Fork => format!("forked process {child}"),
                ForkKind::Vfork => format!("vforked process {child}"),
            },
            Cause::Exec => format!("exec'd {}", self.executable()),
            Cause::Trap { id } => match self.signal_of(id) {
                Some(signal) => format!("signal {}", signals::name(signal)),
                None => return String::new(),
            },
            _ => return format!("\n{title} {number}\n"),
        };
        format!("\n{title} {number} ({what}), ")
    }

    /// The signal that a trap waits for.
    fn signal_of(&self, id: TrapId) -> Option<i32> {
        match self.live.as_ref()?.process.traps().get(id)?.trap.on {
            On::Signal(signal) => Some(signal),
            _ => None,
        }
    }

    fn executable(&self) -> String {
        let pid = self.live.as_ref().map_or(0, |l| l.process.pid().0);
        let path = std::fs::read_link(format!("/proc/{pid}/exe"));
        path.map_or_else(|_| "?".to_owned(), |p| p.display().to_string())
    }

    /// The enabled catchpoints that wait for something.
    fn catching(&self, wanted: impl Fn(&Event) -> bool) -> Vec<u32> {
        let all = self.points.list.iter().filter(|p| p.enabled);
        let fitting = all.filter(|p| matches!(&p.kind, Kind::Catch(c) if wanted(&c.on)));
        fitting.map(|p| p.number).collect()
    }

    /// A new process: what its catchpoints say.
    pub(super) fn forked(&mut self, tid: Tid, cause: &Cause) -> Result<Vec<String>> {
        let Cause::Fork { kind, .. } = *cause else {
            return Ok(Vec::new());
        };
        let wanted = |on: &Event| match kind {
            ForkKind::Fork => matches!(on, Event::Fork),
            ForkKind::Vfork => matches!(on, Event::Vfork),
        };
        self.hit_all(tid, self.catching(wanted), cause)
    }

    fn hit_all(&mut self, tid: Tid, points: Vec<u32>, cause: &Cause) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for number in points {
            lines.extend(self.hit(tid, number, cause)?);
        }
        Ok(lines)
    }

    /// The debugger stays with the child of a fork.
    pub(super) fn moved_to(&mut self, child: Tid, maker: Tid) -> Result<()> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let parent = std::mem::replace(&mut live.pid, child);
        live.tid = child;
        for point in &mut self.points.list {
            point.forget_lost(|id| live.process.traps().get(id).is_none());
            point.rename_threads(|tid| (tid == maker).then_some(child));
        }
        self.say(&format!(
            "[Attaching after process {parent} fork to child process {child}]\n\
             [Detaching after fork from parent process {parent}]"
        ))
    }

    /// The process became another program; what its catchpoints say.
    pub(super) fn executed(&mut self, tid: Tid) -> Result<Vec<String>> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        live.exits_of = 0;
        let pid = live.process.pid();
        let parent = std::mem::replace(&mut live.pid, pid);
        if parent != pid {
            // The child of a vfork, which has its own memory now.
            live.tid = pid;
            self.say(&format!(
                "[Attaching after process {parent} vfork to child process {pid}]\n\
                 [Detaching vfork parent process {parent} after child exec]"
            ))?;
        }
        if self.is_attended() {
            let path = self.executable();
            self.say(&format!("process {pid} is executing new program: {path}"))?;
        }
        let points = self.catching(|on| matches!(on, Event::Exec));
        self.hit_all(tid, points, &Cause::Exec)
    }

    /// Libraries came or went: breakpoints in them are set; what catchpoints
    /// say of it.
    pub(super) fn libraries_changed(&mut self, tid: Tid, cause: &Cause) -> Result<Vec<String>> {
        let before = self.library_paths();
        let loaded = self.images.loaded().to_vec();
        self.images_changed()?;
        self.watch_in_new(tid, &loaded)?;
        let after = self.library_paths();
        let only = |a: &[String], b: &[String]| -> Vec<String> {
            let new = a.iter().filter(|p| !b.contains(p));
            new.cloned().collect()
        };
        let (changed, verb) = match cause {
            Cause::Loaded => (only(&after, &before), "loaded"),
            _ => (only(&before, &after), "unloaded"),
        };
        let fits = |text: &str| changed.iter().any(|p| p.contains(text));
        let points = self.catching(|on| match (on, cause) {
            (Event::Load(text), Cause::Loaded) => fits(text),
            (Event::Unload(text), Cause::Unloaded) => fits(text),
            _ => false,
        });
        let mut lines = self.hit_all(tid, points, cause)?;
        for line in &mut lines {
            line.push_str(&format!("  Inferior {verb} {}", changed.join("\n    ")));
        }
        Ok(lines)
    }

    fn library_paths(&self) -> Vec<String> {
        let all = self.images.loaded().iter();
        all.map(|l| l.module.path().display().to_string()).collect()
    }
}
