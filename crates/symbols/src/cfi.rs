//! Call frame information of `.eh_frame` and `.debug_frame`.

use crate::addr::FileAddr;
use crate::elf::Elf;
use crate::error::LocationError;
use crate::module::Module;
use crate::registers::{Memory, RIP, RSP, Registers};
use crate::units::R;
use crate::unwind::{Caller, Method};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianSlice, EvaluationResult as E,
    Expression, LittleEndian, Location, RegisterRule, Section, UnwindContext, UnwindExpression,
    UnwindSection, Value,
};
use std::sync::{Mutex, OnceLock};

/// The unwind tables of a module, found by address.
pub(crate) struct UnwindTables {
    eh_frame: Option<EhFrame<R>>,
    bases: BaseAddresses,
    eh_frame_addr: u64,
    header: Option<SearchTable>,
    eh_index: OnceLock<Vec<(u64, u64, usize)>>,
    debug_frame: OnceLock<Option<DebugFrame<R>>>,
    debug_index: OnceLock<Vec<(u64, u64, usize)>>,
    /// Rows are asked for again and again at the same places.
    context: Mutex<UnwindContext<usize>>,
}

/// `.eh_frame_hdr` in the only encoding linkers write.
pub(crate) struct SearchTable {
    rows: &'static [u8],
    addr: u64,
}

impl SearchTable {
    fn parse(data: &'static [u8], addr: u64) -> Option<SearchTable> {
        // Version 1; eh_frame_ptr pcrel sdata4, count udata4, table datarel sdata4.
        let rest = data.strip_prefix(&[1, 0x1b, 0x03, 0x3b])?;
        let count = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        let rows = rest.get(8..)?.get(..count.checked_mul(8)?)?;
        Some(SearchTable { rows, addr })
    }

    fn row(&self, at: usize) -> (u64, u64) {
        let word = |at: usize| {
            let bytes = self.rows.get(at..at + 4).and_then(|b| b.try_into().ok());
            let offset = i32::from_le_bytes(bytes.unwrap_or_default());
            self.addr.wrapping_add(i64::from(offset) as u64)
        };
        (word(at * 8), word(at * 8 + 4))
    }

    /// Address of the last entry that starts at or before `pc`.
    fn find(&self, pc: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.rows.len() / 8);
        while low < high {
            let mid = (low + high) / 2;
            if self.row(mid).0 <= pc {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        low.checked_sub(1).map(|at| self.row(at).1)
    }
}

impl UnwindTables {
    fn load(elf: &Elf) -> UnwindTables {
        let range = |name| elf.section_range(name).map_or(0, |(a, _)| a.0);
        let eh = elf.section(".eh_frame");
        let mut bases = BaseAddresses::default()
            .set_text(range(".text"))
            .set_got(range(".got"))
            .set_eh_frame(range(".eh_frame"));
        if elf.has_section(".eh_frame_hdr") {
            bases = bases.set_eh_frame_hdr(range(".eh_frame_hdr"));
        }
        let header = SearchTable::parse(elf.section(".eh_frame_hdr"), range(".eh_frame_hdr"));
        UnwindTables {
            eh_frame: (!eh.is_empty()).then(|| {
                let mut section = EhFrame::from(EndianSlice::new(eh, LittleEndian));
                section.set_address_size(8);
                section
            }),
            bases,
            eh_frame_addr: range(".eh_frame"),
            header,
            eh_index: OnceLock::new(),
            debug_frame: OnceLock::new(),
            debug_index: OnceLock::new(),
            context: Mutex::new(UnwindContext::new()),
        }
    }

    fn eh_offset(&self, section: &EhFrame<R>, pc: u64) -> Option<usize> {
        if let Some(at) = self.header.as_ref().and_then(|h| h.find(pc)) {
            let offset = usize::try_from(at.checked_sub(self.eh_frame_addr)?).ok()?;
            return (offset < section.reader().len()).then_some(offset);
        }
        find_in(
            self.eh_index.get_or_init(|| index(section, &self.bases)),
            pc,
        )
    }

    /// Calls `each` with the entry that covers a pc.
    fn with_entry<T>(
        &self,
        module: &Module,
        pc: u64,
        each: &mut dyn FnMut(Found) -> Option<T>,
    ) -> Option<T> {
        if let Some(section) = &self.eh_frame {
            let entry = self.eh_offset(section, pc).and_then(|offset| {
                section
                    .fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset)
                    .ok()
            });
            if let Some(entry) = entry.filter(|e| e.contains(pc)) {
                return each(Found::Eh(section, entry));
            }
        }
        // Only where .eh_frame is silent: a separate debug file may have to be found for this.
        let section = self
            .debug_frame
            .get_or_init(|| load_debug_frame(module))
            .as_ref()?;
        let sorted = self.debug_index.get_or_init(|| index(section, &self.bases));
        let offset = find_in(sorted, pc)?;
        let entry = section
            .fde_from_offset(&self.bases, offset.into(), DebugFrame::cie_from_offset)
            .ok()?;
        each(Found::Debug(section, entry))
    }
}

pub(crate) fn load_debug_frame(module: &Module) -> Option<DebugFrame<R>> {
    let own = module.elf.section(".debug_frame");
    let bytes = match own.is_empty() {
        false => own,
        true => module.debug_elf()?.section(".debug_frame"),
    };
    let mut section = DebugFrame::from(EndianSlice::new(bytes, LittleEndian));
    section.set_address_size(8);
    (!bytes.is_empty()).then_some(section)
}

pub(crate) enum Found<'a> {
    Eh(&'a EhFrame<R>, gimli::FrameDescriptionEntry<R>),
    Debug(&'a DebugFrame<R>, gimli::FrameDescriptionEntry<R>),
}

pub(crate) fn index<S: UnwindSection<R>>(
    section: &S,
    bases: &BaseAddresses,
) -> Vec<(u64, u64, usize)> {
    let mut out = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        if let Ok(fde) = partial.parse(S::cie_from_offset)
            && fde.len() > 0
            && fde.initial_address() > 1
        {
            out.push((fde.initial_address(), fde.end_address(), fde.offset()));
        }
    }
    out.sort_unstable();
    out
}

pub(crate) fn find_in(sorted: &[(u64, u64, usize)], pc: u64) -> Option<usize> {
    let end = sorted.partition_point(|e| e.0 <= pc);
    let &(begin, limit, offset) = sorted[..end].last()?;
    (begin <= pc && pc < limit).then_some(offset)
}

impl Module {
    fn unwind_tables(&self) -> &UnwindTables {
        self.unwind.get_or_init(|| UnwindTables::load(&self.elf))
    }

    /// Bounds of the function around an address by its unwind entry: all that a stripped file tells.
    pub fn unwind_bounds(&self, addr: FileAddr) -> Option<(FileAddr, FileAddr)> {
        self.unwind_tables().with_entry(self, addr.0, &mut |found| {
            let (Found::Eh(_, fde) | Found::Debug(_, fde)) = found;
            Some((FileAddr(fde.initial_address()), FileAddr(fde.end_address())))
        })
    }

    /// How the canonical frame address of a frame that runs at an address follows from one of its
    /// registers; `None` where it takes more than that, or nothing tells.
    pub fn cfa_rule(&self, addr: FileAddr) -> Option<CfaFrom> {
        let tables = self.unwind_tables();
        tables.with_entry(self, addr.0, &mut |found| {
            let mut context = tables.context.lock().unwrap_or_else(|e| e.into_inner());
            let (bases, context) = (&tables.bases, &mut *context);
            let row = match &found {
                Found::Eh(section, fde) => {
                    fde.unwind_info_for_address(*section, bases, context, addr.0)
                }
                Found::Debug(section, fde) => {
                    fde.unwind_info_for_address(*section, bases, context, addr.0)
                }
            };
            match row.ok()?.cfa() {
                CfaRule::RegisterAndOffset { register, offset } => Some(CfaFrom {
                    register: register.0,
                    offset: *offset,
                }),
                CfaRule::Expression(_) => None,
            }
        })
    }

    /// Unwinds one frame by call frame information; `lookup` is the pc, or the pc - 1 of a caller.
    pub fn unwind_frame(
        &self,
        bias: u64,
        lookup: FileAddr,
        registers: &Registers,
        memory: &dyn Memory,
    ) -> Option<Result<Caller, LocationError>> {
        let tables = self.unwind_tables();
        tables.with_entry(self, lookup.0, &mut |found| {
            let mut context = tables.context.lock().unwrap_or_else(|e| e.into_inner());
            let frame = Step {
                registers,
                memory,
                bias,
            };
            match found {
                Found::Eh(section, fde) => {
                    frame.by_entry(section, &fde, tables, &mut context, lookup)
                }
                Found::Debug(section, fde) => {
                    frame.by_entry(section, &fde, tables, &mut context, lookup)
                }
            }
        })
    }
}

/// The canonical frame address as a register's distance from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CfaFrom {
    register: u16,
    offset: i64,
}

impl CfaFrom {
    /// The address, by a frame's registers.
    pub fn of(self, registers: &Registers) -> Option<u64> {
        let base = registers.get(self.register)?;
        Some(base.wrapping_add_signed(self.offset))
    }
}

pub(crate) struct Step<'a> {
    registers: &'a Registers,
    memory: &'a dyn Memory,
    bias: u64,
}

impl Step<'_> {
    fn by_entry<S: UnwindSection<R>>(
        &self,
        section: &S,
        fde: &gimli::FrameDescriptionEntry<R>,
        tables: &UnwindTables,
        context: &mut UnwindContext<usize>,
        lookup: FileAddr,
    ) -> Option<Result<Caller, LocationError>> {
        let is_signal = fde.is_signal_trampoline();
        let encoding = fde.cie().encoding();
        let ra = fde.cie().return_address_register();
        let row = fde
            .unwind_info_for_address(section, &tables.bases, context, lookup.0)
            .ok()?;
        let work = || {
            let cfa = self.cfa(section, encoding, row.cfa())?;
            let mut out = self.registers.clone();
            for number in 0..17u16 {
                let rule = row.register(gimli::Register(number));
                let value = match rule {
                    None | Some(RegisterRule::SameValue) => match number {
                        RSP => Some(cfa),
                        RIP => None,
                        _ => self.registers.get(number),
                    },
                    Some(rule) => self.apply(section, encoding, cfa, &rule)?,
                };
                out.general[number as usize] = value;
            }
            let returned = match row.register(ra) {
                Some(RegisterRule::Undefined) => None,
                Some(rule) => self.apply(section, encoding, cfa, &rule)?,
                None => Some(self.memory.read_u64(cfa.wrapping_sub(8))?),
            };
            out.general[RIP as usize] = returned;
            Ok(Caller {
                cfa,
                registers: returned.filter(|&pc| pc != 0).map(|_| out),
                is_signal,
                method: Method::Cfi,
            })
        };
        Some(work())
    }

    fn cfa<S: UnwindSection<R>>(
        &self,
        section: &S,
        encoding: gimli::Encoding,
        rule: &CfaRule<usize>,
    ) -> Result<u64, LocationError> {
        match rule {
            CfaRule::RegisterAndOffset { register, offset } => {
                let base = self.register(register.0)?;
                Ok(base.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(e) => self.expression(section, encoding, e, None),
        }
    }

    fn register(&self, number: u16) -> Result<u64, LocationError> {
        self.registers
            .get(number)
            .ok_or(LocationError::NoRegister(number))
    }

    fn apply<S: UnwindSection<R>>(
        &self,
        section: &S,
        encoding: gimli::Encoding,
        cfa: u64,
        rule: &RegisterRule<usize>,
    ) -> Result<Option<u64>, LocationError> {
        Ok(match rule {
            RegisterRule::Offset(n) => Some(self.memory.read_u64(cfa.wrapping_add(*n as u64))?),
            RegisterRule::ValOffset(n) => Some(cfa.wrapping_add(*n as u64)),
            RegisterRule::Register(r) => self.registers.get(r.0),
            RegisterRule::Expression(e) => {
                let at = self.expression(section, encoding, e, Some(cfa))?;
                Some(self.memory.read_u64(at)?)
            }
            RegisterRule::ValExpression(e) => {
                Some(self.expression(section, encoding, e, Some(cfa))?)
            }
            RegisterRule::Constant(v) => Some(*v),
            _ => None,
        })
    }

    fn expression<S: UnwindSection<R>>(
        &self,
        section: &S,
        encoding: gimli::Encoding,
        expression: &UnwindExpression<usize>,
        initial: Option<u64>,
    ) -> Result<u64, LocationError> {
        let expression: Expression<R> = expression.get(section)?;
        let mut evaluation = expression.evaluation(encoding);
        evaluation.set_max_iterations(10_000);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut state = evaluation.evaluate()?;
        loop {
            state = match state {
                E::Complete => break,
                E::RequiresMemory { address, size, .. } => {
                    let mut word = [0; 8];
                    self.memory
                        .read(address, &mut word[..usize::from(size).min(8)])?;
                    evaluation.resume_with_memory(Value::Generic(u64::from_le_bytes(word)))?
                }
                E::RequiresRegister { register, .. } => {
                    let value = Value::Generic(self.register(register.0)?);
                    evaluation.resume_with_register(value)?
                }
                E::RequiresRelocatedAddress(a) => {
                    evaluation.resume_with_relocated_address(a.wrapping_add(self.bias))?
                }
                _ => return Err(LocationError::Dwarf("strange unwind expression".into())),
            };
        }
        match evaluation.result().first().map(|p| p.location) {
            Some(Location::Address { address }) => Ok(address),
            Some(Location::Value { value }) => Ok(value.to_u64(u64::MAX)?),
            _ => Err(LocationError::Dwarf(
                "unwind expression without result".into(),
            )),
        }
    }
}
