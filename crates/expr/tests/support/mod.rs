//! A core file as a scope: registers, memory and modules of a stopped program, without a process.
#![allow(dead_code)]

#[path = "../../../symbols/tests/common/mod.rs"]
pub mod common;

use common::Lab;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verde_expr::{Call, EvalError, FrameScope, Loaded, Scope, Value};
use verde_symbols::{
    FileAddr, Frame, LocationError, Memory, Module, Modules, Registers, backtrace,
};

struct Segment {
    addr: u64,
    bytes: Vec<u8>,
}

/// A stopped program.
pub struct Core {
    segments: Vec<Segment>,
    modules: Vec<Loaded>,
    pub registers: Registers,
    pub frames: Vec<Frame>,
    pub selected: Option<FrameScope>,
    conveniences: HashMap<String, Value>,
    pub values: Vec<Value>,
    written: HashMap<u64, u8>,
    /// Calls asked for, and what each answers.
    pub calls: Vec<Call>,
    pub result: Option<u64>,
}

/// Runs a program in gdb to a location and saves it there.
pub fn make_core(lab: &Lab, program: &Path, location: &str) -> PathBuf {
    let core = lab.path(&format!(
        "{}.core",
        program.file_name().unwrap().to_string_lossy()
    ));
    let commands = [
        "set breakpoint pending off".to_owned(),
        "handle SIGUSR1 nostop noprint pass".to_owned(),
        format!("break {location}"),
        "run > /dev/null".to_owned(),
        format!("generate-core-file {}", core.display()),
        "kill".to_owned(),
    ];
    let log = lab.gdb(program, &commands);
    assert!(core.exists(), "{log}");
    core
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

impl Core {
    pub fn open(path: &Path) -> Core {
        let data = std::fs::read(path).unwrap();
        let headers = word(&data, 32) as usize;
        let count = u16::from_le_bytes([data[56], data[57]]) as usize;
        let mut core = Core {
            segments: Vec::new(),
            modules: Vec::new(),
            registers: Registers::default(),
            frames: Vec::new(),
            selected: None,
            conveniences: HashMap::new(),
            values: Vec::new(),
            written: HashMap::new(),
            calls: Vec::new(),
            result: None,
        };
        for i in 0..count {
            let at = headers + i * 56;
            let (kind, offset) = (half(&data, at), word(&data, at + 8) as usize);
            let size = word(&data, at + 32) as usize;
            match kind {
                1 if size > 0 => core.segments.push(Segment {
                    addr: word(&data, at + 16),
                    bytes: data[offset..offset + size].to_vec(),
                }),
                4 => core.notes(&data[offset..offset + size]),
                _ => {}
            }
        }
        let (frames, _) = backtrace(&core, &core, core.registers.clone(), 100);
        core.frames = frames;
        core.select(0);
        core
    }

    fn notes(&mut self, mut notes: &[u8]) {
        let mut have_registers = false;
        let mut have_floats = false;
        while notes.len() >= 12 {
            let (name, size, kind) = (half(notes, 0), half(notes, 4), half(notes, 8));
            let start = 12 + name.next_multiple_of(4);
            let desc = &notes[start..start + size];
            match kind {
                1 if !have_registers => {
                    self.general(&desc[112..]);
                    have_registers = true;
                }
                2 if !have_floats => {
                    for i in 0..8 {
                        let at = 32 + i * 16;
                        self.registers.st[i] = desc[at..at + 10].try_into().ok();
                    }
                    for i in 0..16 {
                        let at = 160 + i * 16;
                        self.registers.xmm[i] = desc[at..at + 16].try_into().ok();
                    }
                    have_floats = true;
                }
                0x4649_4c45 => self.files(desc),
                _ => {}
            }
            notes = &notes[(start + size.next_multiple_of(4)).min(notes.len())..];
        }
    }

    fn general(&mut self, regs: &[u8]) {
        // user_regs_struct to DWARF numbers.
        let order = [15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5];
        for (i, number) in order.into_iter().enumerate() {
            self.registers.general[number] = Some(word(regs, i * 8));
        }
        self.registers.general[16] = Some(word(regs, 16 * 8));
        self.registers.eflags = Some(word(regs, 18 * 8));
        self.registers.general[7] = Some(word(regs, 19 * 8));
        self.registers.fs_base = Some(word(regs, 21 * 8));
    }

    fn files(&mut self, desc: &[u8]) {
        let count = word(desc, 0) as usize;
        let mut names = desc[16 + count * 24..].split(|b| *b == 0);
        for i in 0..count {
            let at = 16 + i * 24;
            let (start, offset) = (word(desc, at), word(desc, at + 16));
            let path = String::from_utf8_lossy(names.next().unwrap()).into_owned();
            let known = self
                .modules
                .iter()
                .any(|l| l.module.path() == Path::new(&path));
            if offset == 0
                && !known
                && let Ok(module) = Module::open(&path)
            {
                let first = module.segments().first().map_or(0, |s| s.addr.0 & !4095);
                let bias = start.wrapping_sub(first);
                self.modules.push(Loaded { module, bias });
            }
        }
    }

    /// Selects a frame by the number gdb gives it, inlined ones counted.
    pub fn select(&mut self, number: usize) {
        let all = verde_symbols::source_frames(&self.frames);
        self.selected = all
            .into_iter()
            .nth(number)
            .and_then(|(level, source)| FrameScope::new(&self.frames, level, source, self));
    }

    fn byte(&self, addr: u64) -> Option<u8> {
        if let Some(byte) = self.written.get(&addr) {
            return Some(*byte);
        }
        for segment in &self.segments {
            let into = addr.wrapping_sub(segment.addr) as usize;
            if let Some(byte) = segment.bytes.get(into) {
                return Some(*byte);
            }
        }
        let loaded = self
            .modules
            .iter()
            .find_map(|l| l.module.bytes_at(FileAddr::of(addr, l.bias), 1));
        loaded.map(|b| b[0])
    }
}

impl Memory for Core {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        if self.written.is_empty() {
            for segment in &self.segments {
                let into = addr.wrapping_sub(segment.addr) as usize;
                if let Some(bytes) = segment.bytes.get(into..into.saturating_add(buf.len())) {
                    buf.copy_from_slice(bytes);
                    return Ok(());
                }
            }
        }
        for (i, slot) in buf.iter_mut().enumerate() {
            let at = addr.wrapping_add(i as u64);
            *slot = self.byte(at).ok_or(LocationError::Memory(at))?;
        }
        Ok(())
    }
}

impl Modules for Core {
    fn module_at(&self, addr: u64) -> Option<(Arc<Module>, u64)> {
        let found = self.modules.iter().find(|l| {
            let at = FileAddr::of(addr, l.bias);
            let inside = |s: &verde_symbols::Segment| at.0 >= s.addr.0 && at.0 - s.addr.0 < s.size;
            l.module.segments().iter().any(inside)
        });
        found.map(|l| (l.module.clone(), l.bias))
    }
}

impl Scope for Core {
    fn modules(&self) -> &[Loaded] {
        &self.modules
    }

    fn frame(&self) -> Option<&FrameScope> {
        self.selected.as_ref()
    }

    fn tls(&self, module: &Module) -> Option<u64> {
        // The program's own block lies just below the thread pointer.
        let first = self.modules.first()?;
        let image = module.tls()?;
        let base = self.registers.fs_base?;
        std::ptr::eq(&*first.module, module)
            .then(|| base - image.size.next_multiple_of(image.align))
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), EvalError> {
        for (i, byte) in bytes.iter().enumerate() {
            self.written.insert(addr + i as u64, *byte);
        }
        Ok(())
    }

    fn write_register(&mut self, number: u16, bytes: &[u8]) -> Result<(), EvalError> {
        let frame = self.selected.as_mut().ok_or(EvalError::NotLvalue)?;
        frame.frame.registers.general[number as usize] = Some(word(bytes, 0));
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<Registers, EvalError> {
        if let Some(result) = self.result {
            self.calls.push(call.clone());
            let mut registers = Registers::default();
            registers.general[0] = Some(result);
            return Ok(registers);
        }
        Err(EvalError::NoProcess(
            "You can't do that without a process to debug.",
        ))
    }

    fn allocate(&mut self, _: u64) -> Result<u64, EvalError> {
        Err(EvalError::NoProcess(
            "evaluation of this expression requires the target to exist",
        ))
    }

    fn convenience(&self, name: &str) -> Option<Value> {
        self.conveniences.get(name).cloned()
    }

    fn set_convenience(&mut self, name: &str, value: Value) {
        self.conveniences.insert(name.to_owned(), value);
    }

    fn history(&self, number: i64) -> Option<Value> {
        let at = if number > 0 {
            usize::try_from(number - 1).ok()?
        } else {
            self.values
                .len()
                .checked_sub(1 + number.unsigned_abs() as usize)?
        };
        self.values.get(at).cloned()
    }
}

/// What gdb answers to each command on a core file.
pub fn gdb_answers(lab: &Lab, program: &Path, core: &Path, commands: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for command in commands {
        all.push("echo \\n==\\n".to_owned());
        all.push(command.clone());
    }
    all.push("echo \\n==\\n".to_owned());
    let text = lab.gdb_core(program, core, &all);
    let mut parts: Vec<String> = text
        .split("\n==\n")
        .skip(1)
        .map(|p| p.trim_end().to_owned())
        .collect();
    parts.pop();
    assert_eq!(parts.len(), commands.len(), "{text}");
    parts
}

/// Our answer to a `print`, `whatis` or `ptype` command.
pub fn answer(core: &mut Core, command: &str) -> String {
    use verde_expr::*;
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    let (verb, letters) = verb.split_once('/').unwrap_or((verb, ""));
    let result = match verb {
        "whatis" | "ptype" => type_named(rest, core).map(|(ty, named)| {
            let ty = match (verb, named, ty.kind()) {
                ("whatis", true, verde_symbols::Kind::Typedef(_)) => ty.target().unwrap(),
                _ => ty,
            };
            let text = if verb == "whatis" {
                whatis(&ty)
            } else {
                ptype(&ty)
            };
            format!("type = {text}")
        }),
        "x" => evaluate(rest, core).and_then(|value| {
            let last = Examine {
                count: 1,
                format: Format::Hex,
                size: 4,
            };
            let what = Examine::parse(letters, last)?;
            let start = value.to_address()?;
            let (lines, _) = examine(core, start, what, &PrintOptions::default());
            Ok(lines.join("\n"))
        }),
        _ => evaluate(rest, core).and_then(|value| {
            let options = PrintOptions {
                format: letters.chars().next().and_then(Format::from_letter),
                ..PrintOptions::default()
            };
            let text = print_value(&value, core, &options)?;
            core.values.push(value);
            Ok(format!("${} = {text}", core.values.len()))
        }),
    };
    result.unwrap_or_else(|e| e.to_string())
}

/// Compares our answers with gdb's, command by command; values only, not their numbers.
pub fn compare(lab: &Lab, program: &Path, core_path: &Path, frame: usize, commands: &[&str]) {
    let mut all: Vec<String> = vec![format!("frame {frame}")];
    all.extend(commands.iter().map(|c| c.to_string()));
    let expected = gdb_answers(lab, program, core_path, &all);
    let mut core = Core::open(core_path);
    core.select(frame);
    let mut wrong = Vec::new();
    for (command, expected) in commands.iter().zip(&expected[1..]) {
        let got = answer(&mut core, command);
        if strip(&got) != strip(expected) {
            wrong.push(format!("{command}\n   gdb: {expected}\n  here: {got}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        commands.len(),
        wrong.join("\n")
    );
}

fn strip(answer: &str) -> &str {
    match answer.split_once(" = ") {
        Some((head, rest)) if head.starts_with('$') => rest,
        _ => answer,
    }
}
