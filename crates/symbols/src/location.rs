//! Evaluation of DWARF expressions and location descriptions.

use crate::error::LocationError;
use crate::registers::{Memory, Registers};
use crate::units::{DieId, Info, R, Unit, Value as AttrValue};
use gimli::{EvaluationResult as E, Expression, Location, Value, ValueType};
use std::sync::Arc;

/// Everything outside the file that a location may depend on.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The program's memory.
    pub memory: &'a dyn Memory,
    /// Registers of the frame, when there is one.
    pub registers: Option<&'a Registers>,
    /// The frame's canonical frame address.
    pub cfa: Option<u64>,
    /// What the loader added to the file's addresses.
    pub bias: u64,
    /// Start of this module's thread-local block in the thread.
    pub tls: Option<u64>,
    /// Values the caller passed, for `DW_OP_entry_value`.
    pub entry: Option<&'a dyn EntryValues>,
}

/// What registers held when the function was entered, as far as the caller's code tells.
pub trait EntryValues {
    /// The value that a register had at the entry.
    fn entry_register(&self, register: u16) -> Option<u64>;

    /// The value of a parameter that the function is no longer passed, by its DIE.
    fn entry_parameter(&self, parameter: DieId) -> Option<u64>;
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// In memory.
    Memory(u64),
    /// In a register, in its low bytes.
    Register(u16),
    /// Nowhere: the compiler knows the bytes.
    Bytes(Vec<u8>),
    /// Spread over several places.
    Pieces(Vec<Piece>),
    /// A pointer that was optimised away; what it pointed to is still known.
    ImplicitPointer {
        /// The variable it would point to.
        target: DieId,
        /// Bytes into it.
        offset: i64,
    },
}

/// One part of a value spread over several places.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Size in bits; `None` for all that is left.
    pub bits: Option<u64>,
    /// Bits to skip at the place.
    pub skip: u64,
    /// Where this part is; `None` when it was optimised out.
    pub place: Option<Place>,
}

impl Place {
    /// The `size` bytes at this place.
    pub fn read(&self, env: &Env, size: usize) -> Result<Vec<u8>, LocationError> {
        match self {
            Place::Memory(addr) => {
                let mut buf = buffer(size)?;
                env.memory.read(*addr, &mut buf)?;
                Ok(buf)
            }
            Place::Register(number) => {
                let registers = env.registers.ok_or(LocationError::NoFrame)?;
                let mut bytes = registers
                    .bytes(*number)
                    .ok_or(LocationError::NoRegister(*number))?;
                // A `long double` is 10 bytes in its register and 16 in memory.
                if (33..=40).contains(number) && size <= 16 {
                    bytes.resize(16, 0);
                }
                if bytes.len() < size {
                    return Err(LocationError::Dwarf(
                        "value larger than its register".into(),
                    ));
                }
                bytes.truncate(size);
                Ok(bytes)
            }
            Place::Bytes(bytes) => {
                let mut bytes = bytes.clone();
                bytes.resize(size.min(1 << 30), 0);
                Ok(bytes)
            }
            Place::Pieces(pieces) => read_pieces(pieces, env, size),
            Place::ImplicitPointer { .. } => Err(LocationError::OptimizedOut),
        }
    }

    /// What is there of a value that was taken apart: its bytes, and for each whether it is known.
    /// `None` for a value in one piece, and if nothing is known.
    pub fn read_partly(&self, env: &Env, size: usize) -> Option<(Vec<u8>, Vec<bool>)> {
        let Place::Pieces(pieces) = self else {
            return None;
        };
        let (bytes, known) = read_there(pieces, env, size, true).ok()?;
        known.contains(&true).then_some((bytes, known))
    }
}

fn buffer(size: usize) -> Result<Vec<u8>, LocationError> {
    let mut buf = Vec::new();
    buf.try_reserve_exact(size)
        .map_err(|_| LocationError::Dwarf(format!("a value of {size} bytes")))?;
    buf.resize(size, 0);
    Ok(buf)
}

/// All pieces, or why one of them is not there.
fn read_pieces(pieces: &[Piece], env: &Env, size: usize) -> Result<Vec<u8>, LocationError> {
    let (bytes, there) = read_there(pieces, env, size, false)?;
    match there.iter().all(|t| *t) {
        true => Ok(bytes),
        false => Err(LocationError::OptimizedOut),
    }
}

/// What is there of some pieces, and which bytes those are.
fn read_there(
    pieces: &[Piece],
    env: &Env,
    size: usize,
    partly: bool,
) -> Result<(Vec<u8>, Vec<bool>), LocationError> {
    let mut out = buffer(size)?;
    let mut there = vec![true; size];
    let total = size as u64 * 8;
    let mut at = 0u64;
    for piece in pieces {
        let bits = piece.bits.unwrap_or(total.saturating_sub(at));
        let bits = bits.min(total.saturating_sub(at));
        if bits == 0 {
            break;
        }
        let end = piece.skip.checked_add(bits).filter(|&e| e < 1 << 40);
        let end = end.ok_or(LocationError::OptimizedOut)?;
        let read = match &piece.place {
            Some(place) => place.read(env, end.div_ceil(8) as usize),
            None => Err(LocationError::OptimizedOut),
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(_) if partly => {
                there[(at / 8) as usize..(at + bits).div_ceil(8) as usize].fill(false);
                at += bits;
                continue;
            }
            Err(why) => return Err(why),
        };
        if at.is_multiple_of(8) && bits % 8 == 0 && piece.skip == 0 {
            let start = (at / 8) as usize;
            out[start..start + bytes.len()].copy_from_slice(&bytes);
        } else {
            for i in 0..bits {
                let from = piece.skip + i;
                let bit = bytes[(from / 8) as usize] >> (from % 8) & 1;
                let to = at + i;
                out[(to / 8) as usize] |= bit << (to % 8);
            }
        }
        at += bits;
    }
    there[(at / 8) as usize..].fill(false);
    Ok((out, there))
}

/// Evaluates location attributes of one unit.
pub(crate) struct Evaluator<'a> {
    pub info: &'a Info,
    pub unit: &'a Unit,
    pub env: &'a Env<'a>,
    /// `DW_AT_frame_base` of the function around.
    pub frame_base: Option<AttrValue>,
    /// The pc for location lists.
    pub pc: Option<u64>,
}

/// Nested evaluations (a frame base that uses a frame base, calls) end here.
const MAX_DEPTH: u32 = 8;
/// Operations one expression may take: a loop in a corrupt file ends here.
const MAX_STEPS: u32 = 10_000;
/// The operation that marks a place.
const UNINITIALIZED: u8 = gimli::DW_OP_GNU_uninit.0;

impl Evaluator<'_> {
    /// The place a location attribute describes at the pc.
    pub fn place(&self, value: AttrValue) -> Result<Place, LocationError> {
        let expression = self
            .expression_at(value)?
            .ok_or(LocationError::OptimizedOut)?;
        self.evaluate(expression, None, 0)
    }

    /// The expression of a location attribute that holds at the pc.
    pub fn expression_at(&self, value: AttrValue) -> Result<Option<Expression<R>>, LocationError> {
        if let Some(expression) = value.exprloc_value() {
            return Ok(Some(expression));
        }
        let dwarf = &self.unit.dwarf;
        let Some(mut list) = dwarf.attr_locations(&self.unit.unit, value)? else {
            return Err(LocationError::OptimizedOut);
        };
        let pc = self.pc.ok_or(LocationError::NoFrame)?;
        let mut steps = 0;
        while let Some(entry) = list.next()? {
            if entry.range.begin <= pc && pc < entry.range.end {
                return Ok(Some(entry.data));
            }
            steps += 1;
            if steps > 1 << 20 {
                break;
            }
        }
        Ok(None)
    }

    fn frame_base(&self, depth: u32) -> Result<u64, LocationError> {
        let value = self.frame_base.ok_or(LocationError::NoFrame)?;
        let expression = self
            .expression_at(value)?
            .ok_or(LocationError::OptimizedOut)?;
        match self.evaluate(expression, None, depth + 1)? {
            Place::Memory(addr) => Ok(addr),
            // `DW_OP_reg7`: the frame base is the register's contents.
            Place::Register(number) => self.register(number),
            _ => Err(LocationError::Dwarf("strange frame base".into())),
        }
    }

    fn register(&self, number: u16) -> Result<u64, LocationError> {
        let registers = self.env.registers.ok_or(LocationError::NoFrame)?;
        registers
            .get(number)
            .ok_or(LocationError::NoRegister(number))
    }

    /// What is in a register, as a type: also of those whose contents are no addresses.
    fn typed_register(
        &self,
        number: u16,
        offset: gimli::UnitOffset,
    ) -> Result<Value, LocationError> {
        if offset.0 == 0 {
            return Ok(Value::Generic(self.register(number)?));
        }
        let registers = self.env.registers.ok_or(LocationError::NoFrame)?;
        let bytes = registers.bytes(number);
        self.typed(offset, &bytes.ok_or(LocationError::NoRegister(number))?)
    }

    fn typed(&self, offset: gimli::UnitOffset, bytes: &[u8]) -> Result<Value, LocationError> {
        let kind = self.base_type(offset)?;
        let bytes = gimli::EndianSlice::new(bytes, gimli::LittleEndian);
        Ok(Value::parse(kind, bytes)?)
    }

    fn base_type(&self, offset: gimli::UnitOffset) -> Result<ValueType, LocationError> {
        if offset.0 == 0 {
            return Ok(ValueType::Generic);
        }
        let entry = self.unit.unit.entry(offset)?;
        let kind = ValueType::from_entry(&entry)?;
        kind.ok_or_else(|| LocationError::Dwarf("unknown base type".into()))
    }

    /// An expression without the mark at its end that says that nothing was stored there yet, and
    /// whether it has it.
    fn without_mark(&self, expression: Expression<R>) -> (Expression<R>, bool) {
        let bytes = expression.0.slice();
        // A number may end like that, too.
        let Some((&UNINITIALIZED, rest)) = bytes.split_last() else {
            return (expression, false);
        };
        let mut operations = expression.operations(self.unit.unit.encoding());
        let mut last = None;
        while let Ok(Some(operation)) = operations.next() {
            last = Some(operation);
        }
        match last {
            Some(gimli::Operation::Uninitialized) => {
                let rest = gimli::EndianSlice::new(rest, gimli::LittleEndian);
                (Expression(rest), true)
            }
            _ => (expression, false),
        }
    }

    /// Whether the compiler says of a place that nothing was stored there yet.
    pub fn is_uninitialized(&self, value: AttrValue) -> bool {
        let expression = self.expression_at(value).ok().flatten();
        expression.is_some_and(|e| self.without_mark(e).1)
    }

    /// Evaluates one expression, with `initial` pushed when given.
    pub fn evaluate(
        &self,
        expression: Expression<R>,
        initial: Option<u64>,
        depth: u32,
    ) -> Result<Place, LocationError> {
        if depth > MAX_DEPTH {
            return Err(LocationError::Dwarf("expressions nested too deeply".into()));
        }
        let (expression, _) = self.without_mark(expression);
        let mut evaluation = expression.evaluation(self.unit.unit.encoding());
        evaluation.set_max_iterations(MAX_STEPS);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut state = evaluation.evaluate()?;
        loop {
            state = match state {
                E::Complete => break,
                E::RequiresMemory {
                    address,
                    size,
                    base_type,
                    ..
                } => {
                    let mut word = [0; 8];
                    let size = usize::from(size).min(8);
                    self.env.memory.read(address, &mut word[..size])?;
                    let value = match base_type.0 {
                        0 => Value::Generic(u64::from_le_bytes(word)),
                        _ => self.typed(base_type, &word)?,
                    };
                    evaluation.resume_with_memory(value)?
                }
                E::RequiresRegister {
                    register,
                    base_type,
                } => {
                    let value = self.typed_register(register.0, base_type)?;
                    evaluation.resume_with_register(value)?
                }
                E::RequiresFrameBase => {
                    evaluation.resume_with_frame_base(self.frame_base(depth)?)?
                }
                E::RequiresCallFrameCfa => evaluation
                    .resume_with_call_frame_cfa(self.env.cfa.ok_or(LocationError::NoFrame)?)?,
                E::RequiresTls(offset) => {
                    let base = self.env.tls.ok_or(LocationError::NoTls)?;
                    evaluation.resume_with_tls(base.wrapping_add(offset))?
                }
                E::RequiresRelocatedAddress(addr) => {
                    evaluation.resume_with_relocated_address(addr.wrapping_add(self.env.bias))?
                }
                E::RequiresIndexedAddress { index, relocate } => {
                    let addr = self.unit.dwarf.address(&self.unit.unit, index)?;
                    let bias = if relocate { self.env.bias } else { 0 };
                    evaluation.resume_with_indexed_address(addr.wrapping_add(bias))?
                }
                E::RequiresEntryValue(inner) => {
                    let value = self.entry_value(inner)?;
                    evaluation.resume_with_entry_value(Value::Generic(value))?
                }
                E::RequiresBaseType(offset) => {
                    evaluation.resume_with_base_type(self.base_type(offset)?)?
                }
                E::RequiresAtLocation(reference) => {
                    let bytes = self.called(reference)?;
                    evaluation.resume_with_at_location(bytes)?
                }
                // What a caller has passed, to a function of which only a part is left.
                E::RequiresParameterRef(offset) => {
                    let die = DieId {
                        unit: self.unit.index,
                        offset: u32::try_from(offset.0).map_err(|_| LocationError::OptimizedOut)?,
                    };
                    let value = self.env.entry.and_then(|e| e.entry_parameter(die));
                    let value = value.ok_or(LocationError::OptimizedOut)?;
                    evaluation.resume_with_parameter_ref(value)?
                }
                _ => return Err(LocationError::Dwarf("unsupported operation".into())),
            };
        }
        // gimli names registers and addresses; a single piece is the place itself.
        let pieces = evaluation.result();
        match pieces.as_slice() {
            [] => Err(LocationError::OptimizedOut),
            [one] if one.size_in_bits.is_none() => self
                .convert(&one.location)?
                .ok_or(LocationError::OptimizedOut),
            many => {
                let mut out = Vec::new();
                for piece in many {
                    out.push(Piece {
                        bits: piece.size_in_bits,
                        skip: piece.bit_offset.unwrap_or(0),
                        place: self.convert(&piece.location)?,
                    });
                }
                Ok(Place::Pieces(out))
            }
        }
    }

    fn convert(&self, location: &Location<R>) -> Result<Option<Place>, LocationError> {
        Ok(Some(match location {
            Location::Empty => return Ok(None),
            Location::Register { register } => Place::Register(register.0),
            Location::Address { address } => Place::Memory(*address),
            Location::Value { value } => Place::Bytes(value_bytes(*value)),
            Location::Bytes { value } => Place::Bytes(value.slice().to_vec()),
            Location::ImplicitPointer { value, byte_offset } => {
                let reference = gimli::AttributeValue::DebugInfoRef(*value);
                let target = self
                    .info
                    .follow(self.unit, Some(reference))
                    .ok_or(LocationError::OptimizedOut)?;
                Place::ImplicitPointer {
                    target,
                    offset: *byte_offset,
                }
            }
        }))
    }

    fn called(&self, reference: gimli::DieReference) -> Result<R, LocationError> {
        let empty = gimli::EndianSlice::new(&[], gimli::LittleEndian);
        let (unit, entry) = match reference {
            gimli::DieReference::UnitRef(offset) => {
                let entry = self.unit.unit.entry(offset)?;
                let location = entry.attr_value(gimli::DW_AT_location);
                let bytes = location.and_then(|v| v.exprloc_value());
                return Ok(bytes.map_or(empty, |e| e.0));
            }
            gimli::DieReference::DebugInfoRef(offset) => {
                let value = gimli::AttributeValue::DebugInfoRef(offset);
                let id = self.info.follow(self.unit, Some(value));
                id.and_then(|id| self.info.die(id))
                    .ok_or_else(|| LocationError::Dwarf("call of nothing".into()))?
            }
        };
        drop::<Arc<Unit>>(unit);
        let location = entry.attr_value(gimli::DW_AT_location);
        Ok(location
            .and_then(|v| v.exprloc_value())
            .map_or(empty, |e| e.0))
    }

    /// What the inner expression, a register, was at the function's entry.
    fn entry_value(&self, inner: Expression<R>) -> Result<u64, LocationError> {
        let mut operations = inner.operations(self.unit.unit.encoding());
        let register = match operations.next()? {
            Some(gimli::Operation::Register { register }) => register,
            Some(gimli::Operation::RegisterOffset {
                register,
                offset: 0,
                ..
            }) => register,
            _ => return Err(LocationError::OptimizedOut),
        };
        let entry = self.env.entry.ok_or(LocationError::OptimizedOut)?;
        entry
            .entry_register(register.0)
            .ok_or(LocationError::OptimizedOut)
    }
}

fn value_bytes(value: Value) -> Vec<u8> {
    match value {
        Value::Generic(v) | Value::U64(v) => v.to_le_bytes().to_vec(),
        Value::I8(v) => v.to_le_bytes().to_vec(),
        Value::U8(v) => v.to_le_bytes().to_vec(),
        Value::I16(v) => v.to_le_bytes().to_vec(),
        Value::U16(v) => v.to_le_bytes().to_vec(),
        Value::I32(v) => v.to_le_bytes().to_vec(),
        Value::U32(v) => v.to_le_bytes().to_vec(),
        Value::I64(v) => v.to_le_bytes().to_vec(),
        Value::F32(v) => v.to_le_bytes().to_vec(),
        Value::F64(v) => v.to_le_bytes().to_vec(),
    }
}
