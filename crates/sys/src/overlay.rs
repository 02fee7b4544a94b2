//! Overlays over directories of a program: what it writes goes to a layer
//! aside, in a mount namespace of its own.

use crate::Tid;
use crate::error::{Result, SysError, check};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A directory with a layer over it.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// The directory, as an absolute path.
    pub dir: PathBuf,
    /// Where the changes go.
    pub upper: PathBuf,
    /// An empty directory beside it, for the kernel.
    pub work: PathBuf,
}

/// Overlays ready to be mounted after a fork.
pub(crate) struct Mounts(Vec<Mount>);

/// Paths may hold what the option's syntax takes for its own, so layers are
/// given as descriptors. They must be opened in the new namespace; here are
/// numbers for them.
struct Mount {
    dir: CString,
    layers: [(CString, File); 3],
    options: [CString; 2],
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| SysError {
        call: "NUL in path",
        errno: libc::EINVAL,
    })
}

impl Mounts {
    /// `user`: they are mounted in a user namespace.
    pub fn prepare(overlays: &[Overlay], user: bool) -> Result<Mounts> {
        let mount = |overlay: &Overlay| {
            let layer = |path: &Path| -> Result<(CString, File)> {
                let number = File::open(path).map_err(|e| SysError::from_io("open layer", &e))?;
                Ok((c_path(path)?, number))
            };
            let layers = [
                layer(&overlay.dir)?,
                layer(&overlay.upper)?,
                layer(&overlay.work)?,
            ];
            let [lower, upper, work] = layers.each_ref().map(|(_, number)| number.as_raw_fd());
            let plain = format!(
                "lowerdir=/proc/self/fd/{lower},upperdir=/proc/self/fd/{upper},\
                 workdir=/proc/self/fd/{work}"
            );
            // An index lets a file keep all its names when it is written; a
            // directory that is renamed needs a redirection, which no user
            // namespace allows. Not every kernel and file system has them.
            let plain = match user {
                true => format!("{plain},userxattr"),
                false => plain,
            };
            let with = match user {
                true => [format!("{plain},index=on"), plain],
                false => [format!("{plain},index=on,redirect_dir=on"), plain],
            };
            let option = |text: &String| c_path(Path::new(text));
            Ok(Mount {
                dir: c_path(&overlay.dir)?,
                layers,
                options: [option(&with[0])?, option(&with[1])?],
            })
        };
        let list: Result<Vec<Mount>> = overlays.iter().map(mount).collect();
        Ok(Mounts(list?))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In a fresh child: a mount namespace with the overlays in it.
    ///
    /// # Safety
    /// Only in a fresh child of fork.
    pub unsafe fn enter(&self) -> std::result::Result<(), i32> {
        // SAFETY: all pointers lead to data made before the fork.
        unsafe {
            let errno = || *libc::__errno_location();
            let null = std::ptr::null();
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                return Err(errno());
            }
            let quiet = libc::MS_REC | libc::MS_SLAVE;
            if libc::mount(null, c"/".as_ptr(), null, quiet, null.cast()) != 0 {
                return Err(errno());
            }
            for mount in &self.0 {
                for (path, number) in &mount.layers {
                    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
                    let here = libc::open(path.as_ptr(), flags);
                    if here < 0 || libc::dup3(here, number.as_raw_fd(), libc::O_CLOEXEC) < 0 {
                        return Err(errno());
                    }
                    libc::close(here);
                }
                let kind = c"overlay".as_ptr();
                let done = mount.options.iter().any(|options| {
                    let options = options.as_ptr().cast();
                    libc::mount(kind, mount.dir.as_ptr(), kind, 0, options) == 0
                });
                if !done {
                    return Err(errno());
                }
            }
            Ok(())
        }
    }
}

/// What a call fills in that tells the size if it is given no room; most have
/// nothing to fill in.
fn filled(call: impl Fn(*mut libc::c_void, usize) -> libc::ssize_t) -> Option<Vec<u8>> {
    let size = usize::try_from(call(std::ptr::null_mut(), 0)).ok()?;
    let mut room = vec![0u8; size];
    if size > 0 {
        let got = call(room.as_mut_ptr().cast(), room.len());
        room.truncate(usize::try_from(got).ok()?);
    }
    Some(room)
}

/// An extended attribute; `None`: there is none of this name.
pub fn attribute(path: &Path, name: &CStr) -> Option<Vec<u8>> {
    let path = c_path(path).ok()?;
    // SAFETY: the room has the length that is passed.
    filled(|room, len| unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), room, len) })
}

/// The extended attributes of a file that are the program's, not an overlay's.
pub fn attributes(path: &Path) -> Vec<(OsString, Vec<u8>)> {
    let Ok(c) = c_path(path) else {
        return Vec::new();
    };
    // SAFETY: the room has the length that is passed.
    let list =
        |room: *mut libc::c_void, len| unsafe { libc::llistxattr(c.as_ptr(), room.cast(), len) };
    let room = filled(list).unwrap_or_default();
    let names = room.split(|b| *b == 0).filter(|n| !n.is_empty());
    let own = names.filter(|n| {
        !n.starts_with(b"trusted.overlay.")
            && !n.starts_with(b"user.overlay.")
            // A label that the system gives by itself.
            && *n != b"security.selinux"
    });
    let with_value = own.filter_map(|n| {
        let name = CString::new(n).ok()?;
        Some((OsString::from_vec(n.to_vec()), attribute(path, &name)?))
    });
    with_value.collect()
}

/// Sets an extended attribute, or takes it away.
pub fn set_attribute(path: &Path, name: &OsStr, value: Option<&[u8]>) -> Result<()> {
    let path = c_path(path)?;
    let name = c_path(Path::new(name))?;
    // SAFETY: the value has the length that is passed.
    let done = unsafe {
        match value {
            Some(v) => libc::lsetxattr(path.as_ptr(), name.as_ptr(), v.as_ptr().cast(), v.len(), 0),
            None => libc::lremovexattr(path.as_ptr(), name.as_ptr()),
        }
    };
    check("set extended attribute", done.into()).map(drop)
}

/// Makes a file that is no regular one: a named pipe, a device.
pub fn make_special(path: &Path, mode: u32, device: u64) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: the path ends with NUL.
    let done = unsafe { libc::mknod(path.as_ptr(), mode, device) };
    check("mknod", done.into()).map(drop)
}

/// Whether two descriptors of a process lead to one open file, with one offset.
pub fn same_open_file(pid: Tid, a: RawFd, b: RawFd) -> bool {
    is_same_open_file((pid, a), (pid, b))
}

/// The same for those of two processes.
pub fn is_same_open_file(one: (Tid, RawFd), other: (Tid, RawFd)) -> bool {
    const KCMP_FILE: i32 = 0;
    let ((a, first), (b, second)) = (one, other);
    // SAFETY: no memory is involved.
    unsafe { libc::syscall(libc::SYS_kcmp, a.0, b.0, KCMP_FILE, first, second) == 0 }
}
