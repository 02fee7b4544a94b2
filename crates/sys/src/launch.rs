//! Starting a program under trace, with the environment, descriptors, signal
//! state and affinity it would have without a debugger.

use crate::Tid;
use crate::affinity::CpuSet;
use crate::error::{Result, SysError};
use crate::namespace::Namespace;
use crate::overlay::{Mounts, Overlay};
use crate::ptrace::{self, IfTracerDies};
use crate::wait::{self, Event, WaitStatus};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What to start.
#[derive(Debug, Default)]
pub struct Launch {
    /// Program: a path, or a name searched in PATH.
    pub program: PathBuf,
    /// The name it sees as its own; `None` for the path.
    pub name: Option<OsString>,
    /// Arguments after the program's name.
    pub args: Vec<OsString>,
    /// The whole environment; `None` for the debugger's own.
    pub env: Option<Vec<(OsString, OsString)>>,
    /// Working directory; `None` for the debugger's own.
    pub cwd: Option<PathBuf>,
    /// Standard input, output and error; `None` to inherit.
    pub stdio: [Option<OwnedFd>; 3],
    /// What it has under which numbers besides; of the standard three only those named here.
    /// `None` to inherit all.
    pub descriptors: Option<Vec<(RawFd, OwnedFd)>>,
    /// Leave address space randomisation on.
    pub aslr: bool,
    /// Give it a process group of its own, for the terminal hand-over.
    pub own_group: bool,
    /// Run it in a user and PID namespace of its own, where it can get ids
    /// back after a restore without privileges. It sees other ids there.
    pub namespace: bool,
    /// Directories whose changes go to layers aside. Needs root or `namespace`.
    pub overlays: Vec<Overlay>,
    /// CPUs it may use; `None` for those of the calling thread.
    pub affinity: Option<CpuSet>,
}

/// Everything the child needs, made before the fork: after it only
/// async-signal-safe calls are allowed.
struct Prepared {
    path: CString,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    mounts: Mounts,
    cwd: Option<CString>,
    stdio: [Option<RawFd>; 3],
    descriptors: Option<Vec<(RawFd, OwnedFd)>>,
    aslr: bool,
    own_group: bool,
    affinity: Option<CpuSet>,
    _strings: (Vec<CString>, Vec<CString>),
}

fn c_string(text: &OsStr) -> Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| SysError {
        call: "NUL in argument",
        errno: libc::EINVAL,
    })
}

fn find(program: &Path) -> Result<PathBuf> {
    if program.as_os_str().as_bytes().contains(&b'/') {
        return Ok(program.to_path_buf());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())
        .ok_or(SysError {
            call: "find program in PATH",
            errno: libc::ENOENT,
        })
}

fn prepare(launch: &Launch) -> Result<Prepared> {
    let path = find(&launch.program)?;
    let name = launch.name.as_deref();
    let mut args = vec![c_string(name.unwrap_or(launch.program.as_os_str()))?];
    for arg in &launch.args {
        args.push(c_string(arg)?);
    }
    let env: Vec<(OsString, OsString)> = match &launch.env {
        Some(env) => env.clone(),
        None => std::env::vars_os().collect(),
    };
    let mut vars = Vec::with_capacity(env.len());
    for (name, value) in env {
        let mut line = name;
        line.push("=");
        line.push(value);
        vars.push(c_string(&line)?);
    }
    let pointers = |strings: &[CString]| {
        let mut list: Vec<*const libc::c_char> = strings.iter().map(|s| s.as_ptr()).collect();
        list.push(std::ptr::null());
        list
    };
    // Below an overlay the directory we are in is another one.
    let cwd = match (&launch.cwd, launch.overlays.is_empty()) {
        (None, false) => std::env::current_dir().ok(),
        (cwd, _) => cwd.clone(),
    };
    Ok(Prepared {
        mounts: Mounts::prepare(&launch.overlays, launch.namespace)?,
        path: c_string(path.as_os_str())?,
        argv: pointers(&args),
        envp: pointers(&vars),
        cwd: cwd.as_ref().map(|d| c_string(d.as_os_str())).transpose()?,
        stdio: [0, 1, 2].map(|i| launch.stdio[i].as_ref().map(AsRawFd::as_raw_fd)),
        descriptors: lifted(launch)?,
        aslr: launch.aslr,
        own_group: launch.own_group,
        affinity: launch.affinity,
        _strings: (args, vars),
    })
}

/// Under a number that is not below one.
fn above(fd: &impl AsRawFd, least: RawFd) -> Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    if copy < 0 {
        return Err(SysError::last("dup"));
    }
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// The lowest number above all that the program gets.
fn free_number(launch: &Launch) -> RawFd {
    let wanted = launch.descriptors.iter().flatten();
    let most = wanted.map(|(number, _)| *number).max();
    most.map_or(0, |most| most.saturating_add(1))
}

/// The program's descriptors out of each other's way.
fn lifted(launch: &Launch) -> Result<Option<Vec<(RawFd, OwnedFd)>>> {
    let Some(wanted) = &launch.descriptors else {
        return Ok(None);
    };
    let least = free_number(launch);
    let lift = |(number, fd): &(RawFd, OwnedFd)| Ok((*number, above(fd, least)?));
    wanted.iter().map(lift).collect::<Result<_>>().map(Some)
}

/// A pipe whose ends do not survive an exec.
pub(crate) fn pipe() -> Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(SysError::last("pipe"));
    }
    // SAFETY: both descriptors are new and ours.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// A program that was started.
#[derive(Debug)]
pub struct Launched {
    /// Its process.
    pub pid: Tid,
    /// The namespace it runs in, if it has one of its own.
    pub namespace: Option<Namespace>,
}

/// Starts the program traced by the calling thread. On return it has done its
/// exec and not executed an instruction; it dies with the tracer.
pub fn launch(launch: &Launch) -> Result<Launched> {
    let prepared = prepare(launch)?;
    let namespace = launch.namespace.then(Namespace::new).transpose()?;
    let enter = namespace.as_ref().map(Namespace::fd);
    let (gate_read, mut gate_write) = pipe()?;
    let (mut error_read, error_write) = pipe()?;
    // Only the child may have it in the end: its closing is the word that nothing comes.
    let error_write = {
        let first = error_write;
        above(&first, free_number(launch))?
    };
    // SAFETY: the child only makes async-signal-safe calls on data prepared
    // above, and ends in exec or _exit.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => return Err(SysError::last("fork")),
        0 => {
            // SAFETY: this is the child.
            unsafe {
                // With both ends here it would wait for itself, should the debugger be killed.
                libc::close(gate_write.as_raw_fd());
                child(
                    &prepared,
                    enter,
                    gate_read.as_raw_fd(),
                    error_write.as_raw_fd(),
                )
            }
        }
        _ => {}
    }
    drop((gate_read, error_write));
    let pid = match &namespace {
        Some(_) => inside(pid, &mut error_read)?,
        None => pid,
    };
    let tid = Tid(pid);
    let fail = |error: SysError| {
        // SAFETY: kills and reaps the child made above.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        }
        error
    };
    ptrace::seize(tid, IfTracerDies::Kill).map_err(fail)?;
    gate_write
        .write_all(&[1])
        .map_err(|e| fail(SysError::from_io("start program", &e)))?;
    loop {
        match wait::task(tid)? {
            WaitStatus::Event(Event::Exec) => {
                return Ok(Launched {
                    pid: tid,
                    namespace,
                });
            }
            // TRACEEXIT: the exec failed, let it go on to its end.
            WaitStatus::Exited(_) | WaitStatus::Killed { .. } => {
                let mut report = [0u8; 4];
                let errno = match error_read.read_exact(&mut report) {
                    Ok(()) => i32::from_ne_bytes(report),
                    // The kernel gave up in the middle of loading it.
                    Err(_) => libc::ENOEXEC,
                };
                let call = match errno & IN_OVERLAY {
                    0 => "start program",
                    _ => "mount overlay",
                };
                return Err(SysError {
                    call,
                    errno: errno & !IN_OVERLAY,
                });
            }
            WaitStatus::Signal(signal) => ptrace::resume(tid, ptrace::Go::Continue, signal)?,
            _ => ptrace::resume(tid, ptrace::Go::Continue, 0)?,
        }
    }
}

/// Set in the number of an error that a child reports: it was the mounting.
const IN_OVERLAY: i32 = 1 << 16;

/// The id of the process that a child has become in a namespace.
fn inside(between: libc::pid_t, tell: &mut File) -> Result<libc::pid_t> {
    let mut word = [0u8; 4];
    let told = tell.read_exact(&mut word);
    let mut status = 0;
    // SAFETY: reaps the child that has told.
    unsafe { libc::waitpid(between, &mut status, libc::__WALL) };
    let value = i32::from_ne_bytes(word);
    match told {
        Ok(()) if status == 0 => Ok(value),
        Ok(()) => Err(SysError {
            call: "enter namespace",
            errno: value,
        }),
        Err(e) => Err(SysError::from_io("enter namespace", &e)),
    }
}

/// The child's side, up to the exec.
///
/// # Safety
/// Only in a fresh child of fork.
unsafe fn child(p: &Prepared, namespace: Option<RawFd>, gate: RawFd, errors: RawFd) -> ! {
    // SAFETY: all pointers lead to data of `p`, made before the fork.
    unsafe {
        let give_up = || -> ! {
            let errno = *libc::__errno_location();
            libc::write(errors, (&raw const errno).cast(), 4);
            libc::_exit(127)
        };
        if let Some(namespace) = namespace
            && let Err(errno) = crate::namespace::enter(namespace, errors)
        {
            libc::write(errors, (&raw const errno).cast(), 4);
            libc::_exit(127);
        }
        // Wait until the parent has attached: then exec is a ptrace event, and
        // so is the end after a failure.
        let mut byte = 0u8;
        if libc::read(gate, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        if !p.mounts.is_empty()
            && let Err(errno) = p.mounts.enter()
        {
            let errno = errno | IN_OVERLAY;
            libc::write(errors, (&raw const errno).cast(), 4);
            libc::_exit(127);
        }
        if p.own_group {
            libc::setpgid(0, 0);
        }
        // What is ignored survives exec. The mask is left alone: nothing here
        // blocks signals for longer than a call, so it is the one the debugger
        // was started with.
        crate::inherited::restore();
        crate::limits::restore();
        if let Some(CpuSet(set)) = &p.affinity {
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set);
        }
        if !p.aslr {
            let now = libc::personality(0xffff_ffff);
            libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        for (target, fd) in p.stdio.iter().enumerate() {
            let target = target as i32;
            if let Some(fd) = fd {
                // dup2 onto itself would keep close-on-exec.
                let done = if *fd == target {
                    libc::fcntl(target, libc::F_SETFD, 0)
                } else {
                    libc::dup2(*fd, target)
                };
                if done < 0 {
                    give_up();
                }
            } else {
                crate::inherited::close_again(target);
            }
        }
        if let Some(wanted) = &p.descriptors {
            for standard in 0..3 {
                libc::close(standard);
            }
            for (number, fd) in wanted {
                if libc::dup2(fd.as_raw_fd(), *number) < 0 {
                    give_up();
                }
            }
        }
        if let Some(cwd) = &p.cwd
            && libc::chdir(cwd.as_ptr()) != 0
        {
            give_up();
        }
        libc::execve(p.path.as_ptr(), p.argv.as_ptr(), p.envp.as_ptr());
        give_up()
    }
}
