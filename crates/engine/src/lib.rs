//! A debugger without properties: processes, threads, traps, stepping,
//! watchpoints, signals, fork and exec, libraries.
//!
//! A [`Process`] is owned by the thread that made it, because the kernel gives
//! ptrace to a thread. [`Process::wait`] reports one thread at a time as a
//! [`Stop`]; the other threads go on. [`Process::stop_all`] stops the world
//! explicitly. What to hear about is a [`TrapSet`]; the engine chooses the
//! mechanism.
//!
//! The engine knows addresses, not names: symbols, lines and unwind rules come
//! from the caller as plain data or through the [`Guide`] trait.

mod access;
mod arithmetic;
mod arrive;
mod born;
mod call_places;
mod calls;
mod calm;
mod chain;
mod crowd;
mod detach;
mod detour;
mod elements;
mod error;
mod exchange;
mod forced;
mod fork;
mod given;
mod guide;
mod hardware;
mod inject;
mod instructions;
mod landing;
mod last_access;
mod lent;
mod loans;
mod memory;
mod modules;
mod overtaken;
mod page_windows;
mod pages;
mod pin;
mod plant;
mod process;
mod raced;
mod reach;
mod relocate;
mod report;
mod restart;
mod resting;
mod resume;
mod scratch;
mod shadow;
mod signal_policy;
mod sites;
mod slots;
mod step;
mod stop;
mod succeed;
mod thread;
mod transfer;
mod trap;
mod waiting;
mod watch;
mod watch_hits;
mod world;

pub use calls::Adoption;
pub use error::{Error, Result};
pub use exchange::Exchange;
pub use fork::Follow;
pub use guide::{Guide, LineAt, LinePart, NoGuide};
pub use inject::Returned;
pub use modules::{Module, ModuleKind};
pub use process::{Interrupter, Options, Process};
pub use scratch::Scratch;
pub use signal_policy::{SignalPolicy, Treatment};
pub use step::StepKind;
pub use stop::{CallId, Cause, End, ForkKind, Stop};
pub use succeed::{Knowledge, Succession};
pub use trap::{Entry, FrameRef, On, Owner, Trap, TrapId, TrapSet};
pub use verde_sys::launch::Launch;
pub use verde_sys::{Addr, Regs, SigInfo, Tid, XState};
pub use world::StopGuard;
