//! Starting and ending the program.

use super::arguments::Arguments;
use super::failure::{Failure, NOT_RUN, Result, failure};
use super::live::Live;
use super::points::Kind;
use super::{Debugger, reason};
use verde_checkpoint::Snapshot;
use verde_engine::{Error, Launch, Options};
use verde_sys::SysError;

impl Debugger {
    pub(super) fn run(&mut self, args: &str) -> Result<()> {
        if !args.is_empty() {
            self.args = Arguments::typed(args)?;
        }
        self.launch()?;
        self.go_on()
    }

    pub(super) fn start(&mut self, args: &str) -> Result<()> {
        self.set_tbreak("main")?;
        self.run(args)
    }

    /// Starts the program and stops it before its first instruction.
    pub(super) fn starti(&mut self, args: &str) -> Result<()> {
        if !args.is_empty() {
            self.args = Arguments::typed(args)?;
        }
        self.launch()?;
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        live.look(live.tid, &self.images)?;
        self.say("\nProgram stopped.")?;
        self.say_frame(0, false)?;
        self.show_displays()
    }

    /// Starts the program with all breakpoints set; it does not run yet.
    pub(super) fn launch(&mut self) -> Result<()> {
        self.end_process()?;
        self.settle_files();
        self.notice_rebuilt()?;
        let args = self.args.start(&self.settings)?;
        let layers = self.new_layers()?;
        let launch = Launch {
            program: std::path::absolute(&self.program)?,
            name: Some(self.name.clone()),
            args: args.words,
            descriptors: args.descriptors,
            env: self.settings.environment(),
            cwd: self.settings.cwd.clone(),
            aslr: self.settings.randomize,
            own_group: self.terminal.open(),
            namespace: self.wants_namespace(),
            overlays: layers.as_ref().map_or_else(Vec::new, |l| l.overlays()),
            ..Launch::default()
        };
        let options = Options {
            signals: self.signals.clone(),
            report_group_stops: self.is_attended(),
            follow: self.settings.follow,
            ..Options::default()
        };
        let process = match self.start_process(launch, options) {
            Ok(process) => process,
            Err(e) => {
                let reason = self.not_started(e);
                return Err(self.without_layers(layers, reason));
            }
        };
        let entered = layers.as_ref().map(|l| l.entered_by(process.pid()));
        if let Some(Err(e)) = entered {
            drop(process);
            return Err(self.without_layers(layers, e.into()));
        }
        self.files = layers;
        Snapshot::prepare();
        self.begin_timeline();
        for point in &mut self.points.list {
            point.hits = 0;
        }
        self.images.refresh(&process);
        self.interrupts.of(process.interrupter());
        self.live = Some(Live::new(process));
        self.await_choices();
        self.listing.reset();
        if let Err(e) = self.arm() {
            self.end_process()?;
            return Err(e);
        }
        self.restart_monitors()?;
        self.await_start();
        self.rebind_monitors();
        self.begin_automatic();
        Ok(())
    }

    /// Why the program could not be started, with its name.
    fn not_started(&self, error: Error) -> Failure {
        let Error::Sys(SysError {
            call: "start program",
            errno,
        }) = error
        else {
            return error.into();
        };
        let why = reason(&std::io::Error::from_raw_os_error(errno));
        let program = self.program.display();
        Failure(match &self.settings.cwd {
            Some(dir) => format!("Cannot run {program} in {}: {why}.", dir.display()),
            None => format!("Cannot run {program}: {why}."),
        })
    }

    /// Lets everything go and waits for the next stop.
    pub(super) fn go_on(&mut self) -> Result<()> {
        if self.live.is_none() {
            return failure(NOT_RUN);
        }
        let stop = match self.let_go()? {
            Some(stop) => stop,
            None => self.wait()?,
        };
        self.announce(stop, None)
    }

    pub(super) fn resume(&mut self, args: &str) -> Result<()> {
        if self.live.is_none() {
            return failure(NOT_RUN);
        }
        if !args.is_empty() {
            let count = self.number(args)?;
            self.ignore_here(count.saturating_sub(1))?;
        }
        if !self.attached.is_running() {
            self.say("Continuing.")?;
        }
        self.go_on()
    }

    /// An integer of the user's, an expression too.
    pub(super) fn number(&mut self, text: &str) -> Result<u64> {
        let value = match text.trim().parse::<u64>() {
            Ok(number) => return Ok(number),
            Err(_) => self.evaluate(text)?.to_integer()?,
        };
        match u64::try_from(value) {
            Ok(number) => Ok(number),
            Err(_) => failure(format!("Not a count: {text}.")),
        }
    }

    pub(super) fn kill(&mut self, _: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let pid = live.process.pid();
        self.end_process()?;
        self.say(&format!("[Inferior 1 (process {pid}) killed]"))
    }

    pub(super) fn detach(&mut self, _: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let pid = live.process.pid();
        self.refuse_to_leave_files()?;
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        live.process.detach()?;
        self.forget_process();
        let program = self.program.display();
        let text = format!("Detaching from program: {program}, process {pid}");
        self.say(&text)?;
        self.say(&format!("[Inferior 1 (process {pid}) detached]"))
    }

    /// Kills the program if it runs.
    pub(super) fn end_process(&mut self) -> Result<()> {
        self.leave_present();
        if let Some(live) = &mut self.live
            && live.process.ended().is_none()
        {
            live.process.kill()?;
        }
        self.forget_process();
        Ok(())
    }

    pub(super) fn forget_process(&mut self) {
        self.terminal.close();
        self.hot.forget();
        let stood = self.current_line();
        self.listing.leave(stood);
        let others = !self.automatic.is_empty();
        self.checkpoints.process_gone(self.live.take(), others);
        self.monitors_lose_traps();
        // A local goes with its frame.
        let is_local = |k: &Kind| matches!(k, Kind::Watch(w) if w.frame.is_some());
        self.points
            .list
            .retain(|p| !is_local(&p.kind) && p.thread.is_none());
        for point in &mut self.points.list {
            point.forget_traps();
        }
        self.images.unload();
        self.program_left_files();
    }

    pub(super) fn set(&mut self, args: &str) -> Result<()> {
        let (what, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        match what {
            "var" | "variable" => {
                self.evaluate(rest)?;
                self.look_again()
            }
            "args" => {
                self.args = Arguments::typed(rest)?;
                Ok(())
            }
            _ => self.set_other(what, rest, args),
        }
    }
}
