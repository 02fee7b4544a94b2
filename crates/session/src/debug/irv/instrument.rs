//! Traps follow the states: what some slice of some property can react to is
//! set, nothing else.

use super::super::Debugger;
use super::alphabet::Source;
use super::bind::Note;
use super::lint::span_of;
use super::{Irv, MonitorId};
use verde_engine::{Addr, On, Owner, Tid, Trap};
use verde_property::{Kind, SpecId};

impl Irv {
    fn wants(&self, monitor: MonitorId, spec: SpecId) -> bool {
        let Some(one) = self.one(monitor) else {
            return false;
        };
        let Some(m) = &one.monitor else {
            return false;
        };
        let closer = self.zoom.as_ref().is_some_and(|z| z.monitor == monitor)
            && matches!(
                m.property().event(spec).kind,
                Kind::Write | Kind::Read | Kind::Update
            );
        let all = self.choices.all_events || one.switches.all_events || closer;
        one.listens() && (all || m.enabled(spec))
    }

    /// The states of some monitor have changed since the traps were set.
    pub(super) fn is_stale(&self) -> bool {
        let fresh = |m: &verde_monitor::Monitor, v: u64| m.slices().version() == v;
        self.ones
            .iter()
            .any(|o| o.monitor.as_ref().is_some_and(|m| !fresh(m, o.version)))
    }
}

impl Debugger {
    /// Sets and takes out traps after states changed. `tid`: the thread whose event it was.
    #[inline(never)]
    pub(super) fn instrument(&mut self, irv: &mut Irv, tid: Option<Tid>) {
        for one in &mut irv.ones {
            if let Some(m) = &one.monitor {
                one.version = m.slices().version();
            }
        }
        for index in 0..irv.alphabet.sources.len() {
            let mut count = 0;
            for u in 0..irv.alphabet.sources[index].users.len() {
                let (monitor, spec) = {
                    let user = &irv.alphabet.sources[index].users[u];
                    (user.monitor, user.spec)
                };
                let wants = irv.wants(monitor, spec);
                irv.alphabet.sources[index].users[u].wants = wants;
                count += usize::from(wants);
            }
            let source = &mut irv.alphabet.sources[index];
            let before = std::mem::replace(&mut source.wanted, count);
            if count > 0 && before == 0 {
                self.plant_source(irv, index, tid);
            } else if count == 0 && before > 0 {
                irv.take_out_source(index, &mut self.live);
            }
        }
        // Not before: calls that were seen to begin may just have become wanted.
        irv.forget_doubtful(&self.live);
        if cfg!(debug_assertions) {
            self.assert_predicates(irv);
        }
    }

    /// Sets the traps of a wanted source that are not set.
    pub(super) fn plant_source(&mut self, irv: &mut Irv, index: usize, tid: Option<Tid>) {
        if irv.alphabet.sources[index].datum.is_some() {
            self.watch_datum(irv, index, tid);
        }
        let Some(live) = &mut self.live else {
            return;
        };
        let mut failed = None;
        let mut fresh = Vec::new();
        let mut set = Vec::new();
        for (i, site) in irv.alphabet.sources[index].sites.iter_mut().enumerate() {
            if site.trap.is_some() {
                continue;
            }
            if let (true, Some(at)) = (site.is_loop, site.on.function()) {
                live.process.note_loop(at);
            }
            match live.process.insert(Trap::new(site.on, Owner::Monitor)) {
                Ok(id) => {
                    site.trap = Some(id);
                    fresh.push(i);
                    set.push(id);
                }
                Err(verde_engine::Error::Gone) => {}
                Err(e) => {
                    failed.get_or_insert(e.to_string());
                }
            }
        }
        for (site, id) in fresh.iter().zip(set) {
            irv.add_targets(index, *site, id);
        }
        if !fresh.is_empty() {
            self.adopt_running(irv, index, &fresh, tid);
        }
        if let Some(e) = failed {
            let title = irv.alphabet.sources[index].title();
            irv.complain(format!("event {title} cannot be observed: {e}"));
        }
    }

    /// A program starts: data are bound when the loader has done its work.
    pub(in super::super) fn await_start(&mut self) {
        let (Some(irv), Some(live)) = (&mut self.irv, &mut self.live) else {
            return;
        };
        let Some(program) = self.images.loaded().first() else {
            return;
        };
        if program.module.interpreter().is_none() {
            return;
        }
        let on = On::Exec(Addr(program.module.entry().at(program.bias)));
        if let Ok(id) = live.process.insert(Trap::new(on, Owner::Monitor)) {
            irv.start = Some(id);
            irv.loading = true;
        }
    }

    /// The loader has done its work.
    pub(super) fn loaded(&mut self, irv: &mut Irv, tid: Tid) {
        irv.loading = false;
        irv.latch.begun = true;
        // Calls of the first function may be an event, too.
        let is_alone = |id: &verde_engine::TrapId| !irv.targets.contains_key(id);
        let start = irv.start.take().filter(is_alone);
        if let (Some(id), Some(live)) = (start, &mut self.live) {
            // Gone already, it cannot be hit again.
            let _ = live.process.remove(id);
        }
        let mut notes = Vec::new();
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            let by_name = matches!(source.kind, Kind::Call | Kind::Unwound);
            if irv.late && by_name && !source.users.is_empty() {
                self.bind_written(irv, index, &mut notes);
            }
        }
        irv.number_sites(&self.live);
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            let by_name = matches!(source.kind, Kind::Call | Kind::Unwound);
            if irv.late && by_name && source.wanted > 0 {
                self.plant_source(irv, index, Some(tid));
            }
            let source = &irv.alphabet.sources[index];
            if source.wanted > 0 && source.datum.is_some() {
                self.watch_datum(irv, index, Some(tid));
            }
        }
        irv.late = false;
        self.tell(irv, notes);
        self.say_complaints(irv);
        irv.refused |= irv.unfit && !irv.replaced;
    }

    /// Binds an event; what is wrong with it is said with the place that names it.
    fn bind_written(&mut self, irv: &mut Irv, index: usize, notes: &mut Vec<Note>) {
        let known = notes.len();
        self.bind_source(irv, index, notes);
        for note in notes[known..].iter_mut().filter(|n| n.is_error) {
            note.text += &irv.written_at(index);
        }
    }

    /// Binds every event to what is loaded now and sets the wanted traps.
    pub(in super::super) fn rebind_monitors(&mut self) {
        let Some(mut irv) = self.irv.take() else {
            return;
        };
        let mut notes = Vec::new();
        if let Some(live) = &mut self.live {
            // Children are not followed, which is said.
            live.process.options.report_forks |= !irv.is_empty();
        }
        // Nothing happens unseen meanwhile.
        let process = self.live.as_mut().map(|l| &mut l.process);
        let stopped = process.and_then(|p| p.stop_all().ok().map(|guard| guard.release()));
        let former = irv.unbind_globals();
        for index in 0..irv.alphabet.sources.len() {
            if irv.alphabet.sources[index].users.is_empty() {
                continue;
            }
            self.bind_written(&mut irv, index, &mut notes);
        }
        self.trap_signals(&mut irv);
        self.await_leaving(&mut irv);
        irv.number_sites(&self.live);
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            if source.wanted == 0 {
                continue;
            }
            if source.follows_calls() {
                self.observe_exits_for(&mut irv);
            }
            self.plant_source(&mut irv, index, None);
        }
        irv.drop_former(former, &mut self.live);
        if let Some(live) = &mut self.live {
            for tid in stopped.unwrap_or_default() {
                // It ended meanwhile, which is reported.
                let _ = live.process.resume(tid);
            }
        }
        self.tell(&mut irv, notes);
        self.foretell_kernel(&mut irv);
        // Unattended, a program is not begun that its properties cannot judge.
        irv.refused |= irv.unfit && irv.loading && !irv.replaced;
        self.instrument(&mut irv, None);
        self.say_complaints(&mut irv);
        self.irv = Some(irv);
    }

    /// Says what was noticed while events were bound, each once.
    pub(super) fn tell(&mut self, irv: &mut Irv, notes: Vec<Note>) {
        let mut said: Vec<String> = Vec::new();
        for note in notes {
            if said.contains(&note.text) || !irv.once(&note.text) {
                continue;
            }
            if note.is_error {
                irv.errors += 1;
                irv.unfit = true;
            }
            let word = if note.is_error { "error" } else { "warning" };
            irv.output
                .remark(&mut self.out, &format!("{word}: {}", note.text));
            said.push(note.text);
        }
        // Of what is not there yet there will be more to say.
        for source in &mut irv.alphabet.sources {
            source.told |= source.found;
        }
    }

    #[cold]
    pub(super) fn say_complaints(&mut self, irv: &mut Irv) {
        for text in std::mem::take(&mut irv.warnings) {
            if irv.once(&text) {
                irv.output
                    .remark(&mut self.out, &format!("warning: {text}"));
            }
        }
        for text in std::mem::take(&mut irv.complaints) {
            if irv.once(&text) {
                irv.output.remark(&mut self.out, &format!("error: {text}"));
            }
        }
    }

    /// Warns of functions and variables that the program does not have and does not import.
    pub(in super::super) fn warn_of_missing(&mut self) {
        let Some(mut irv) = self.irv.take() else {
            return;
        };
        if self.images.program().interpreter().is_none() {
            self.warn_of_nothing(&mut irv);
        }
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            let what = match source.kind {
                Kind::Call | Kind::Unwound => "function",
                Kind::Write | Kind::Read | Kind::Update => "variable",
                Kind::Line => "line",
                _ => continue,
            };
            if source.found || irv.is_shipped(source) {
                continue;
            }
            let name = source.name.rsplit(['!', ':']).next().unwrap_or_default();
            // Of what was inlined that is said.
            if self.is_imported(name) || self.is_inlined(source) {
                continue;
            }
            let near = match what {
                "function" => self.images.program().nearest_names(&source.name, 3),
                "variable" => self.near_variables(source),
                _ => Vec::new(),
            };
            let near = match near.is_empty() {
                true => String::new(),
                false => format!("; near it: {}", near.join(", ")),
            };
            let text = format!(
                "{what} {} is not in the program{near} (it is awaited from a library)",
                source.name
            );
            if irv.once(&text) {
                irv.output
                    .remark(&mut self.out, &format!("warning: {text}"));
            }
        }
        self.irv = Some(irv);
    }

    /// Warns of shipped properties that have nothing to observe in a static program, to which no
    /// library brings anything.
    fn warn_of_nothing(&mut self, irv: &mut Irv) {
        let shipped = irv.ones.iter().filter(|one| one.is_shipped);
        let blind = shipped.filter(|one| !irv.missed(one).is_empty());
        let texts: Vec<String> = blind
            .map(|one| {
                let name = &one.name;
                format!(
                    "{name}: the program is static and has none of its functions by name: nothing is observed (stripped symbols are the usual reason)"
                )
            })
            .collect();
        for text in texts {
            if irv.once(&text) {
                irv.output
                    .remark(&mut self.out, &format!("warning: {text}"));
            }
        }
    }

    /// Names that may have been meant where a datum's are not in the program.
    pub(super) fn near_variables(&self, source: &Source) -> Vec<String> {
        let locals = source.locals.as_deref();
        let names = locals.map_or(&[][..], |l| l.names());
        let program = self.images.program();
        let near = names.iter().flat_map(|n| program.nearest_names(n, 3));
        near.collect()
    }
}

impl Irv {
    /// Where a property names an event, for a message: ` (queue.prop:3:12)`.
    fn written_at(&self, index: usize) -> String {
        let user = self.alphabet.sources[index].users.first();
        let monitor = user.and_then(|u| self.one(u.monitor)?.monitor.as_ref());
        let (Some(user), Some(monitor)) = (user, monitor) else {
            return String::new();
        };
        let property = monitor.property();
        match span_of(property, user.spec) {
            None => format!(" ({})", property.source.name),
            Some(span) => {
                let (line, column) = property.source.place(span.start);
                format!(" ({}:{line}:{column})", property.source.name)
            }
        }
    }
}
