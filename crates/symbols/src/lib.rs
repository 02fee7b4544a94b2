//! What the files of a program say about it: functions, types, variables, lines, unwind rules.
//!
//! This crate knows files and no process. Addresses are [`FileAddr`]s until the caller adds the bias
//! of a loaded module; values come through [`Env`], which lends registers and memory. Opening a
//! [`Module`] reads headers only: each table is read when something asks for it, and kept.
//!
//! A malformed file gives less, never a panic: what cannot be read is not there.

mod abbrevs;
mod abi;
mod addr;
mod breakpoints;
mod bytes;
mod call_sites;
mod cfi;
mod classify;
mod code_unwind;
mod debug_files;
mod declaring;
mod elf;
mod entry_asks;
mod error;
mod far_inlined;
mod first_moment;
mod functions;
mod index;
mod jumps;
mod lambdas;
mod lines;
mod location;
mod module;
mod names;
mod outlook;
mod paths;
mod plt;
mod query;
mod registers;
mod rust_own;
mod scan;
mod search;
mod tail_calls;
mod tls;
mod type_read;
mod types;
mod units;
mod unwind;
mod variables;

pub use abi::{
    AbiPlace, EntryArgument, INTEGER as INTEGER_ARGUMENTS, XMM0, argument_places, float_argument,
    integer_argument, is_returned_in_memory, return_place,
};
pub use addr::FileAddr;
pub use breakpoints::LineMatch;
pub use call_sites::{CallSiteValues, call_site_values, needed_from_callers};
pub use debug_files::default_debug_dirs;
pub use elf::{Kind as FileKind, Segment, Symbol, TlsImage};
pub use error::{Error, LocationError};
pub use functions::{Function, InlinedCall, SourceFrame};
pub use jumps::Levels;
pub use lines::{LineSpan, SourceFile};
pub use location::{EntryValues, Env, Piece, Place};
pub use module::Module;
pub use names::{demangle, distance, plain_arguments, plain_c_name};
pub use outlook::Outlook;
pub use query::FunctionQuery;
pub use registers::{
    CONTROL, CONTROL_NAMES, Memory, NAMES as REGISTER_NAMES, RBP, RIP, RSP, Registers,
};
pub use search::{Listed, NameFilter};
pub use tls::{dynamic_tls, dynamic_tls_slot};
pub use types::{
    Argument, Encoding, Enumerator, Kind, Link, Member, Method as MemberFunction, RecordKind, Type,
    Variant, VariantPart,
};
pub use units::{DieId, Language};
pub use unwind::{Caller, End, Frame, Method, Modules, backtrace, source_frames, unwind};
pub use variables::{Block, Variable};
