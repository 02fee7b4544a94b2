//! Why a checkpoint could not be made or restored.

use crate::Restored;
use std::path::PathBuf;
use verde_sys::SysError;
use verde_sys::limits;
use verde_sys::number as n;
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
    /// The process is a child of the program that was followed.
    #[error(
        "a forked child that is followed cannot be restored, for the program's first process \
         would see it die; checkpoints need \"set follow-fork-mode parent\""
    )]
    Followed,
    /// The program ended or was killed in the middle.
    #[error("the program ended during the checkpoint; nothing was saved")]
    Ended,
    /// The frozen process is gone.
    #[error("the saved process was killed, so the checkpoint is lost")]
    Lost,
    /// Something that no checkpoint can hold.
    #[error("no checkpoint of a program with {0}: it cannot be restored")]
    Unsupported(&'static str),
    /// The process is in the middle of something.
    #[error("no checkpoint now: {0}")]
    NotNow(&'static str),
    /// The kernel refused to copy the process.
    #[error("{0}; the program is unharmed")]
    Refused(SysError),
    /// The restore failed after the present process had been killed.
    #[error("{}; {}", reason(.source), fate(.put_back.is_some()))]
    Broken {
        /// What went wrong.
        source: Box<Error>,
        /// How the present process is back, if it is.
        put_back: Option<Box<Restored>>,
    },
    /// An operation on a file of a layer failed.
    #[error("{}: {}", .0.display(), .1)]
    Files(PathBuf, std::io::Error),
    /// An overlay would hide what is mounted in the directory.
    #[error(
        "no snapshots of files in {}: {} is mounted in it; name directories that hold no mounts",
        .0.display(), .1.display()
    )]
    MountInside(PathBuf, PathBuf),
    /// The layers would be in the directory that they are for.
    #[error(
        "no snapshots of files in {}: it holds {}, where changed files are kept; \
         set TMPDIR to a directory elsewhere",
        .0.display(), .1.display()
    )]
    LayerInside(PathBuf, PathBuf),
    /// The files were written to their directories.
    #[error("the program's files have been written back, so the checkpoint is lost")]
    Settled,
    /// The files could not be written to their directories.
    #[error("{source}; what the program has written is kept in {}", .home.display())]
    NotBack {
        /// What went wrong.
        source: Box<Error>,
        /// Where the layers are.
        home: PathBuf,
    },
    /// The debugger's engine failed.
    #[error(transparent)]
    Engine(#[from] verde_engine::Error),
    /// A system call failed.
    #[error("{}{}", .0, hint(.0))]
    Sys(#[from] SysError),
    /// A system call in the program failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl Error {
    /// There is no room for one more copy: of memory, processes or descriptors.
    pub fn is_lack(&self) -> bool {
        match self {
            Error::Refused(e) | Error::Sys(e) | Error::Remote(RemoteError::Sys(e)) => {
                matches!(e.errno, n::EMFILE | n::ENFILE | n::ENOMEM | n::EAGAIN)
            }
            _ => false,
        }
    }

    /// A call failed for its process is not there any more.
    pub(crate) fn is_of_gone(&self) -> bool {
        use verde_engine::Error as Of;
        match self {
            Error::Sys(e)
            | Error::Remote(RemoteError::Sys(e))
            | Error::Engine(Of::Sys(e) | Of::Remote(RemoteError::Sys(e))) => e.is_gone(),
            _ => false,
        }
    }

    /// The engine knows already that the process has ended.
    pub(crate) fn is_known_end(&self) -> bool {
        use verde_engine::Error as Of;
        matches!(
            self,
            Error::Engine(Of::Gone | Of::Remote(RemoteError::Ended(_)))
        )
    }
}

fn reason(of_restore: &Error) -> String {
    match of_restore {
        Error::Ended => "the program was killed while it was being restored".to_owned(),
        other => other.to_string(),
    }
}

/// What may be done about a failed call of our own.
fn hint(error: &SysError) -> String {
    match error.errno {
        n::EMFILE => format!(
            ": each checkpoint takes a descriptor of the debugger's own, which may have {} \
             (ulimit -n); delete some, or start it with a higher limit",
            limits::own_descriptors()
        ),
        _ => String::new(),
    }
}

fn fate(put_back: bool) -> &'static str {
    match put_back {
        true => "the program is as it was",
        false => "the program is gone, its checkpoints are not",
    }
}

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restore_that_was_ended_speaks_of_no_checkpoint() {
        let broken = Error::Broken {
            source: Box::new(Error::Ended),
            put_back: None,
        };
        assert_eq!(
            broken.to_string(),
            "the program was killed while it was being restored; \
             the program is gone, its checkpoints are not"
        );
    }

    #[test]
    fn room_can_be_made_for_what_is_lacking_and_for_nothing_else() {
        let ways: [fn(SysError) -> Error; 3] = [Error::Refused, Error::Sys, |e| {
            Error::Remote(RemoteError::Sys(e))
        }];
        let lacks = |errno| {
            let error = SysError {
                call: "clone3",
                errno,
            };
            ways.map(|way| way(error).is_lack())
        };
        for errno in [n::ENOMEM, n::EAGAIN, n::EMFILE, n::ENFILE] {
            assert_eq!(lacks(errno), [true; 3], "{errno}");
        }
        for errno in [n::EPERM, n::EINVAL, n::EACCES, n::ESRCH] {
            assert_eq!(lacks(errno), [false; 3], "{errno}");
        }
        assert!(!Error::Ended.is_lack());
    }
}
