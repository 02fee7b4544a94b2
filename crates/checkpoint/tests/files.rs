//! Files come back with a checkpoint, and in the end the program has left what
//! it leaves without a debugger.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Program, as_user, compile, exec, next, run_out, transparent};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use verde_checkpoint::{Error, Item, Layers, Options, Restored, Snapshot, Warning};
use verde_engine::{End, Launch, Process};

/// A directory with what the program expects to find.
struct Dir(PathBuf);

impl Dir {
    /// `linked`: with a file that has several names, which user namespaces do not know.
    fn new(program: &Program, name: &str, linked: bool) -> Dir {
        let path = PathBuf::from(format!("{}.{name}", program.path.display()));
        fs::create_dir(&path).expect("a directory");
        for dir in ["old_dir", "opaque", "again/sub", "nested/sub"] {
            fs::create_dir_all(path.join(dir)).expect("a directory");
        }
        let files = [
            ("old", "from before"),
            ("old_deleted", "d"),
            ("old_renamed", "r"),
            ("old_dir/x", "x"),
            ("opaque/x", "x"),
            ("again/sub/x", "x"),
            ("nested/sub/x", "x"),
        ];
        for (name, text) in files {
            fs::write(path.join(name), text).expect("a file");
        }
        if linked {
            fs::hard_link(path.join("old"), path.join("old_too")).expect("a link");
        }
        Dir(path)
    }

    /// Everything in it: mode and contents by path.
    fn all(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut out = BTreeMap::new();
        collect(&self.0, &self.0, &mut out);
        out
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn collect(root: &Path, dir: &Path, out: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        let it = fs::symlink_metadata(&path).expect("a file");
        let contents = match it.is_file() {
            true => fs::read(&path).expect("contents"),
            false => {
                fs::read_link(&path).map_or(Vec::new(), |t| t.into_os_string().into_encoded_bytes())
            }
        };
        let name = path.strip_prefix(root).expect("below").to_owned();
        out.insert(name, (it.mode(), contents));
        if it.is_dir() {
            collect(root, &path, out);
        }
    }
}

struct Lab {
    process: Process,
    layers: Rc<Layers>,
    reader: std::io::PipeReader,
    dir: Dir,
    program: Program,
}

/// In a user namespace a directory of before cannot be renamed.
fn environment(namespace: bool) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    match namespace {
        true => Vec::new(),
        false => vec![("MOVE_DIRECTORY".into(), "1".into())],
    }
}

impl Lab {
    fn new(namespace: bool) -> Lab {
        let program = compile("ck_files.c", &["-O1"]);
        let dir = Dir::new(&program, "dir", !namespace);
        let layers = Rc::new(Layers::prepare(std::slice::from_ref(&dir.0)).expect("layers"));
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let launch = Launch {
            program: program.path.clone(),
            cwd: Some(dir.0.clone()),
            env: Some(environment(namespace)),
            stdio: [None, Some(OwnedFd::from(writer)), None],
            namespace,
            overlays: layers.overlays(),
            ..Launch::default()
        };
        let mut process = Process::launch(&launch, transparent()).expect("launched");
        layers.entered_by(process.pid()).expect("entered");
        for name in ["hold", "used"] {
            let at = program.address(&process, name);
            exec(&mut process, at);
        }
        process.resume_all().expect("resumed");
        let mut lab = Lab {
            process,
            layers,
            reader,
            dir,
            program,
        };
        let stop = next(&mut lab.process);
        assert!(stop.ended().is_none(), "{}", lab.said());
        lab
    }

    fn save(&mut self) -> Snapshot {
        let options = Options {
            layers: Some(self.layers.clone()),
            ..Options::default()
        };
        let (snapshot, warnings) = Snapshot::take(&mut self.process, &options).expect("saved");
        assert_eq!(warnings, []);
        snapshot
    }

    fn go_on(&mut self) {
        self.process.resume_all().expect("resumed");
        let stop = next(&mut self.process);
        assert!(stop.ended().is_none(), "{}", self.said());
    }

    fn restore(&mut self, snapshot: &Snapshot, without: &[Item]) -> Restored {
        let done = snapshot.restore_without(&mut self.process, None, without);
        done.expect("restored")
    }

    /// What the program has said since the last time.
    fn said(&mut self) -> String {
        let mut bytes = [0; 65536];
        let got = self.reader.read(&mut bytes).expect("output");
        String::from_utf8_lossy(&bytes[..got]).into_owned()
    }

    fn finish(mut self, without_debugger: &BTreeMap<PathBuf, (u32, Vec<u8>)>) {
        let end = run_out(&mut self.process, |_, _| {});
        assert_eq!(end, End::Exited(0), "{}", self.said());
        assert!(self.layers.home().exists());
        assert_eq!(self.layers.write_back().expect("written"), None);
        assert_eq!(&self.dir.all(), without_debugger);
        assert!(!self.layers.home().exists(), "layers are left");
    }
}

/// What the program leaves behind without a debugger.
fn without_debugger(program: &Program, namespace: bool) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let dir = Dir::new(program, "plain", !namespace);
    let mut plain = Command::new(&program.path);
    plain.env_clear().envs(environment(namespace));
    let output = plain.current_dir(&dir.0).output().expect("run");
    assert!(output.status.success(), "{output:?}");
    dir.all()
}

fn everything_comes_back(namespace: bool) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let mut lab = Lab::new(namespace);
    let expected = without_debugger(&lab.program, namespace);
    let before = lab.dir.all();
    let snapshot = lab.save();
    lab.go_on();
    let first = lab.said();
    assert!(first.contains("appended = one\n"), "{first}");
    let later = lab.save();
    for _ in 0..3 {
        let restored = lab.restore(&snapshot, &[]);
        assert_eq!(restored.warnings, []);
        lab.go_on();
        assert_eq!(lab.said(), first);
    }
    // Forward again, to where it had changed everything.
    lab.restore(&snapshot, &[]);
    let restored = lab.restore(&later, &[]);
    assert_eq!(restored.warnings, []);
    // Nobody else has seen anything of it yet.
    assert_eq!(lab.dir.all(), before);
    drop((snapshot, later));
    lab.finish(&expected);
    let now = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert_eq!(now, mounts);
}

#[test]
fn files_come_back() {
    if as_user("files_come_back") {
        // As root, in place.
        everything_comes_back(false);
    } else {
        everything_comes_back(true);
    }
}

#[test]
fn files_are_missed() {
    let mut lab = Lab::new(true);
    let snapshot = lab.save();
    lab.go_on();
    let first = lab.said();
    let restored = lab.restore(&snapshot, &[Item::Files]);
    assert!(matches!(
        restored.warnings.as_slice(),
        [Warning::ChangedFiles(_)]
    ));
    lab.process.resume_all().expect("resumed");
    next(&mut lab.process);
    assert_ne!(lab.said(), first);
    lab.process.kill().expect("killed");
    drop(snapshot);
    assert_eq!(lab.layers.write_back().expect("written"), None);
}

#[test]
fn a_killed_program_leaves_what_it_has_written() {
    let mut lab = Lab::new(true);
    let inode = fs::metadata(lab.dir.0.join("old")).expect("a file").ino();
    let snapshot = lab.save();
    lab.go_on();
    lab.process.kill().expect("killed");
    assert_eq!(lab.layers.write_back().expect("written"), None);
    let left = lab.dir.all();
    assert_eq!(left[Path::new("old")].1, b"written");
    let same = fs::metadata(lab.dir.0.join("old")).expect("a file").ino() == inode;
    assert!(same, "it was replaced");
    assert!(!left.contains_key(Path::new("gone")));
    // Too late to go back.
    let late = snapshot.restore(&mut lab.process, None);
    let Err(Error::Broken { source, .. }) = late else {
        panic!("{late:?}");
    };
    assert!(matches!(*source, Error::Settled));
}

#[test]
fn a_kill_during_a_checkpoint_is_a_clear_error() {
    for round in 0..20 {
        let mut lab = Lab::new(true);
        let pid = lab.process.pid();
        let options = Options {
            layers: Some(lab.layers.clone()),
            ..Options::default()
        };
        let killer = std::thread::spawn(move || {
            // At different moments; which, does not matter.
            std::thread::sleep(std::time::Duration::from_micros(round * 150));
            verde_sys::signals::send(pid, verde_sys::number::SIGKILL).expect("killed");
        });
        let failed = loop {
            if let Err(error) = Snapshot::take(&mut lab.process, &options) {
                break error;
            }
        };
        killer.join().expect("the killer");
        assert!(matches!(failed, Error::Ended), "round {round}: {failed}");
        assert_eq!(next(&mut lab.process).ended(), Some(End::Killed(9)));
        assert_eq!(lab.layers.write_back().expect("written"), None);
        assert_eq!(lab.dir.all()[Path::new("appended")].1, b"one");
    }
}

#[test]
fn what_cannot_be_covered_is_refused() {
    let program = compile("ck_files.c", &[]);
    let dir = Dir::new(&program, "dir", false);
    let refused = |path: &Path| {
        let layers = Layers::prepare(&[path.to_owned()]);
        layers.err().expect("refused").to_string()
    };
    assert!(refused(&dir.0.join("old")).contains("not a directory"));
    assert!(refused(&dir.0.join("nowhere")).contains("No such file"));
    // Something is mounted in it.
    let text = refused(Path::new("/"));
    assert!(text.contains("is mounted in it"), "{text}");
}

#[test]
fn a_directory_inside_another_is_in_its_layer() {
    let program = compile("ck_files.c", &[]);
    let dir = Dir::new(&program, "dir", false);
    symlink(dir.0.join("old_dir"), dir.0.join("link")).expect("a link");
    let all = ["opaque", "", "link"].map(|name| dir.0.join(name));
    let layers = Layers::prepare(&all).expect("layers");
    assert_eq!(layers.dirs().count(), 1);
    assert_eq!(layers.write_back().expect("nothing written"), None);
}

#[test]
fn the_layers_keep_the_number_of_their_namespace() {
    let mut lab = Lab::new(true);
    let place = format!("/proc/{}/ns/mnt", lab.process.pid());
    let namespace = fs::read_link(place).expect("a namespace");
    lab.process.kill().expect("killed");
    // Otherwise another one could get it, and its processes be taken for the program's.
    let open = fs::read_dir("/proc/self/fd")
        .expect("descriptors")
        .flatten();
    let mut targets = open.filter_map(|e| fs::read_link(e.path()).ok());
    assert!(targets.any(|t| t == namespace));
    assert_eq!(lab.layers.write_back().expect("written"), None);
}
