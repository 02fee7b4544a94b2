//! Stepping by instruction and by line.

mod common;

use common::{Program, compile, exec, next, run_out, transparent};
use std::process::Command;
use std::rc::Rc;
use verde_engine::{
    Addr, Cause, End, Guide, LineAt, LinePart, NoGuide, On, Owner, Process, StepKind, Tid, Trap,
    Treatment,
};
use verde_sys::{number, signals};

/// A line table as `objdump` prints it, for one program at one bias.
struct Lines {
    /// (address, line), by rising address.
    rows: Vec<(u64, u32)>,
    functions: Vec<u64>,
}

impl Lines {
    fn of(program: &Program, process: &Process) -> Rc<Lines> {
        let output = Command::new("objdump")
            .arg("--dwarf=decodedline")
            .arg(&program.path)
            .output()
            .expect("objdump");
        let bias = program.address(process, "main").0 - program.symbol("main");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut rows: Vec<(u64, u32)> = Vec::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [_, number, address, ..] = fields[..]
                && let Some(address) = address.strip_prefix("0x")
                && let Ok(address) = u64::from_str_radix(address, 16)
            {
                rows.push((bias + address, number.parse().unwrap_or(0)));
            }
        }
        rows.sort();
        let names = ["main", "twice", "fact", "on_signal"];
        let functions = names.map(|n| program.address(process, n).0).to_vec();
        Rc::new(Lines { rows, functions })
    }

    fn row(&self, pc: Addr) -> Option<usize> {
        let after = self.rows.partition_point(|(at, _)| *at <= pc.0);
        let row = after.checked_sub(1)?;
        (after < self.rows.len() && self.rows[row].1 != 0).then_some(row)
    }

    fn line_number(&self, pc: Addr) -> u32 {
        self.row(pc).map_or(0, |row| self.rows[row].1)
    }
}

impl Guide for Lines {
    fn line(&self, pc: Addr) -> Option<LineAt> {
        let row = self.row(pc)?;
        let number = self.rows[row].1;
        let ranges = self.rows.windows(2).filter(|w| w[0].1 == number);
        Some(LineAt {
            ranges: ranges.map(|w| Addr(w[0].0)..Addr(w[1].0)).collect(),
            part: match self.rows[row].0 == pc.0 {
                true => LinePart::Start,
                false => LinePart::Middle,
            },
        })
    }

    fn entry_stop(&self, entry: Addr) -> Option<Addr> {
        // The second line of a function begins after its prologue.
        self.functions.contains(&entry.0).then_some(())?;
        let row = self.row(entry)?;
        let number = self.rows[row].1;
        let next = self.rows[row..].iter().find(|(_, line)| *line != number)?;
        Some(Addr(next.0))
    }
}

/// Runs to the first line of main after its prologue.
fn start() -> (Program, Process, Rc<Lines>, Tid) {
    let program = compile("steps.c", &["-O0"]);
    let mut process = program.launch(&[]);
    let lines = Lines::of(&program, &process);
    let main = program.address(&process, "main");
    let body = lines.entry_stop(main).expect("a body");
    let id = exec(&mut process, body);
    process.resume_all().expect("resumed");
    let tid = next(&mut process).tid;
    process.remove(id).expect("removed");
    (program, process, lines, tid)
}

fn step(process: &mut Process, tid: Tid, kind: StepKind, lines: &Rc<Lines>) -> u32 {
    process.step(tid, kind, lines.clone()).expect("step");
    let stop = next(process);
    assert!(stop.causes.contains(&Cause::StepDone), "{stop:?}");
    lines.line_number(process.regs(tid).expect("stopped").pc())
}

/// The number of the first source line that contains a text.
fn line_of(text: &str) -> u32 {
    let source = std::fs::read_to_string(common::source("steps.c")).expect("source");
    let found = source.lines().position(|line| line.contains(text));
    found.expect("the line") as u32 + 1
}

#[test]
fn over_lines() {
    let (_program, mut process, lines, tid) = start();
    let first = line_of("int a = 1;");
    let here = |p: &Process| lines.line_number(p.regs(tid).expect("stopped").pc());
    assert_eq!(here(&process), first);
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(step(&mut process, tid, StepKind::Over, &lines));
    }
    // Over calls, a recursion and a signal handler.
    assert_eq!(seen, (first + 1..first + 6).collect::<Vec<_>>());
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

#[test]
fn into_and_out() {
    let (_program, mut process, lines, tid) = start();
    step(&mut process, tid, StepKind::Over, &lines);
    let inside = step(&mut process, tid, StepKind::Into, &lines);
    assert_eq!(inside, line_of("int y = x * 2;"));
    let back = step(&mut process, tid, StepKind::Out, &lines);
    assert_eq!(back, line_of("a = twice(a) + 1;"));
    assert_eq!(process.regs(tid).expect("stopped").rax, 2);
    assert_eq!(
        step(&mut process, tid, StepKind::Over, &lines),
        line_of("a += fact(5);")
    );
    // Into a recursion, out of it from the third level.
    for _ in 0..3 {
        let mut line = step(&mut process, tid, StepKind::Into, &lines);
        while line != line_of("if (n <= 1)") {
            line = step(&mut process, tid, StepKind::Into, &lines);
        }
    }
    for value in [6, 24, 120] {
        step(&mut process, tid, StepKind::Out, &lines);
        assert_eq!(process.regs(tid).expect("stopped").rax, value);
    }
    // A library function without lines is stepped over.
    assert_eq!(
        step(&mut process, tid, StepKind::Over, &lines),
        line_of("signal(SIGUSR1")
    );
    assert_eq!(
        step(&mut process, tid, StepKind::Into, &lines),
        line_of("raise(SIGUSR1)")
    );
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

/// Stepping leaves a function into its caller.
#[test]
fn over_the_end_of_a_function() {
    let (_program, mut process, lines, tid) = start();
    step(&mut process, tid, StepKind::Over, &lines);
    step(&mut process, tid, StepKind::Into, &lines);
    let mut seen = Vec::new();
    while seen.last() != Some(&line_of("a = twice(a) + 1;")) {
        seen.push(step(&mut process, tid, StepKind::Over, &lines));
    }
    let expected = [
        line_of("return y;"),
        line_of("return y;") + 1,
        line_of("a = twice(a) + 1;"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn until_an_address() {
    let (_program, mut process, lines, tid) = start();
    let print = line_of("printf(");
    let at = lines
        .rows
        .iter()
        .find(|(_, line)| *line == print)
        .expect("a row")
        .0;
    assert_eq!(
        step(&mut process, tid, StepKind::Until(Addr(at), None), &lines),
        print
    );
}

/// Single steps over traps: each address once, in the program's own code, and
/// a trap reached by a step is reported with it, once.
#[test]
fn instructions_over_traps() {
    let (program, mut process, _, tid) = start();
    let main = program.address(&process, "main");
    let plain: Vec<Addr> = trace(&mut process, tid, 60);
    let (program, mut process, _, tid) = start();
    assert_eq!(program.address(&process, "main"), main, "no randomisation");
    let mut traps = Vec::new();
    for at in &plain {
        traps.push(exec(&mut process, *at));
    }
    assert_eq!(trace(&mut process, tid, 60), plain);
    let hits: u64 = process.traps().iter().map(|(_, e)| e.hits).sum();
    // The loader's trap was hit before.
    let loader = process
        .traps()
        .iter()
        .filter(|(_, e)| e.trap.owner == Owner::Loader)
        .map(|(_, e)| e.hits)
        .sum::<u64>();
    assert_eq!(hits - loader, 60);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

fn trace(process: &mut Process, tid: Tid, count: usize) -> Vec<Addr> {
    let mut pcs = Vec::new();
    for _ in 0..count {
        process
            .step(tid, StepKind::Instruction, Rc::new(NoGuide))
            .expect("step");
        let stop = next(process);
        assert!(stop.causes.contains(&Cause::StepDone), "{stop:?}");
        pcs.push(process.regs(tid).expect("stopped").pc());
    }
    pcs
}

/// A store to watched memory is seen also when it is stepped.
#[test]
fn stepping_onto_a_watched_store() {
    for registers in [false, true] {
        let (program, mut process, lines, tid) = start();
        if registers {
            process.avoid_perf_events();
        }
        let at = program.address(&process, "handled");
        let watch = process
            .insert(Trap::new(On::Write { at, len: 4 }, Owner::User))
            .expect("a watch");
        let on_signal = program.address(&process, "on_signal");
        let stop_at = exec(&mut process, on_signal);
        process.options = transparent();
        process.resume_all().expect("resumed");
        assert!(next(&mut process).traps().any(|id| id == stop_at));
        let mut hits = 0;
        for _ in 0..3 {
            process
                .step(tid, StepKind::Over, lines.clone())
                .expect("step");
            loop {
                let stop = next(&mut process);
                hits += stop.traps().filter(|id| *id == watch).count();
                if stop.causes.contains(&Cause::StepDone) {
                    break;
                }
                process.resume(tid).expect("resumed");
            }
        }
        assert_eq!(hits, 1, "registers: {registers}");
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    }
}

/// Callers by frame pointer: at the entry, after the push, in the body and at
/// the return, and through a recursion.
#[test]
fn backtraces_without_debug_information() {
    let (program, mut process, lines, tid) = start();
    let fact = program.address(&process, "fact");
    let id = exec(&mut process, fact);
    process.resume_all().expect("resumed");
    for depth in 1..=5 {
        let stop = next(&mut process);
        assert!(stop.traps().any(|i| i == id));
        let calls = |p: &Process| {
            let frames = p.backtrace(tid, &NoGuide, 64).expect("frames");
            let line = |r: &verde_engine::Regs| lines.line_number(r.pc() - 1);
            frames[1..].iter().map(line).take(depth).collect::<Vec<_>>()
        };
        let mut expected = vec![line_of("return n * fact(n - 1);"); depth - 1];
        expected.push(line_of("a += fact(5);"));
        for _ in 0..6 {
            assert_eq!(calls(&process), expected);
            let step = StepKind::Instruction;
            process.step(tid, step, Rc::new(NoGuide)).expect("step");
            assert!(next(&mut process).causes.contains(&Cause::StepDone));
        }
        process.resume(tid).expect("resumed");
    }
    process.remove(id).expect("removed");
}

const KINDS: [StepKind; 4] = [
    StepKind::Over,
    StepKind::Into,
    StepKind::Instruction,
    StepKind::InstructionOver,
];

/// Runs to the first line behind `raise`, where a step over that call ends on
/// a trap of its own.
fn behind_the_signal() -> (Program, Process, Rc<Lines>, Tid) {
    let (program, mut process, lines, tid) = start();
    while step(&mut process, tid, StepKind::Over, &lines) != line_of("for (int i") {}
    (program, process, lines, tid)
}

/// A signal waits where a step begins: its handler runs, and the step is done
/// as if it had not been.
#[test]
fn a_signal_before_a_step() {
    for kind in KINDS {
        let (program, mut process, lines, tid) = behind_the_signal();
        let from = process.regs(tid).expect("stopped").pc();
        process.step(tid, kind, lines.clone()).expect("step");
        assert!(next(&mut process).causes.contains(&Cause::StepDone));
        let to = process.regs(tid).expect("stopped").pc();
        assert_ne!(from, to);
        drop(process);

        let (_, mut process, _, tid) = behind_the_signal();
        let handled = program.address(&process, "handled");
        let user = exec(&mut process, from);
        signals::send(process.pid(), number::SIGUSR1).expect("sent");
        process.step(tid, kind, lines.clone()).expect("step");
        let stop = next(&mut process);
        assert!(stop.causes.contains(&Cause::StepDone), "{kind:?} {stop:?}");
        assert_eq!(process.regs(tid).expect("stopped").pc(), to, "{kind:?}");
        let mut value = [0; 4];
        process.read(handled, &mut value).expect("memory");
        assert_eq!(i32::from_ne_bytes(value), 2 * number::SIGUSR1);
        // It was set where the thread stood, which is no hit.
        assert_eq!(process.traps().get(user).expect("a trap").hits, 0);
    }
}

/// After a stop for a signal a step leads into its handler, also with pages
/// guarded.
#[test]
fn into_the_handler() {
    let stop = Treatment {
        stop: true,
        print: true,
        pass: true,
    };
    for (kind, pages) in KINDS.into_iter().flat_map(|k| [(k, 0), (k, 5)]) {
        let (program, mut process, lines, tid) = start();
        let far = program.address(&process, "handled");
        for i in 0..pages {
            let at = far + 64 + 8 * i;
            let watch = Trap::new(On::Write { at, len: 8 }, Owner::User);
            process.insert(watch).expect("a watch");
        }
        process.options.signals.set(number::SIGUSR1, stop);
        process.resume_all().expect("resumed");
        let stop = next(&mut process);
        let is_signal = |c: &Cause| matches!(c, Cause::Signal { .. });
        assert!(stop.causes.iter().any(is_signal), "{stop:?}");
        let came = process.regs(tid).expect("stopped").pc();
        step(&mut process, tid, kind, &lines);
        let pc = process.regs(tid).expect("stopped").pc();
        assert_eq!(pc, program.address(&process, "on_signal"), "{kind:?}");
        assert_eq!(
            step(&mut process, tid, StepKind::Over, &lines),
            line_of("handled += s;")
        );
        // Out of it, to where the signal came; that is in the C library.
        let end = step(&mut process, tid, StepKind::Over, &lines);
        assert_eq!(end, line_of("handled += s;") + 1);
        step(&mut process, tid, StepKind::Over, &lines);
        assert_eq!(process.regs(tid).expect("stopped").pc(), came, "{kind:?}");
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    }
}
