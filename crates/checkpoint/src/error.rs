//! Why a checkpoint could not be made or restored.

use verde_sys::SysError;
use verde_sys::remote::RemoteError;

/// A checkpoint or restore that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The debugger did not start the program.
    #[error(
        "a process that was attached to cannot be restored, for its parent would see it die; \
         start the program under the debugger to use checkpoints"
    )]
    Attached,
    /// The program ended or was killed in the middle.
    #[error("the program ended during the checkpoint; nothing was saved")]
    Ended,
    /// The frozen process is gone.
    #[error("the saved process was killed, so the checkpoint is lost")]
    Lost,
    /// Something that no checkpoint can hold.
    #[error("no checkpoint of a program with {0}: it cannot be restored")]
    Unsupported(&'static str),
    /// The kernel refused to copy the process.
    #[error("{0}; the program is unharmed")]
    Refused(SysError),
    /// The restore failed after the present process had been killed.
    #[error("{source}; {}", fate(*.put_back))]
    Broken {
        /// What went wrong.
        source: Box<Error>,
        /// The present process is back.
        put_back: bool,
    },
    /// The debugger's engine failed.
    #[error(transparent)]
    Engine(#[from] verde_engine::Error),
    /// A system call failed.
    #[error(transparent)]
    Sys(#[from] SysError),
    /// A system call in the program failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

fn fate(put_back: bool) -> &'static str {
    match put_back {
        true => "the program is as it was",
        false => "the program is gone, its checkpoints are not",
    }
}

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;
