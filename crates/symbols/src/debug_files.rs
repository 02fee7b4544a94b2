//! Where the debug information of a file is: in it, beside it, or under `/usr/lib/debug`.

use crate::elf::Elf;
use object::Object;
use std::path::{Path, PathBuf};

/// The directories under which distributions keep separate debug files.
pub fn default_debug_dirs() -> Vec<PathBuf> {
    vec![PathBuf::from("/usr/lib/debug")]
}

/// The separate debug file of a stripped file, if one is installed.
pub(crate) fn find(elf: &Elf, dirs: &[PathBuf]) -> Option<Elf> {
    let by_id = elf
        .build_id()
        .and_then(|id| by_build_id(id, dirs, ".debug"))
        .filter(|found| has_debug_info(found) && !same_file(found, elf));
    by_id.or_else(|| by_debuglink(elf, dirs))
}

/// Whether the file carries DWARF (or at least the skeletons of split DWARF) itself.
pub(crate) fn has_debug_info(elf: &Elf) -> bool {
    elf.has_section(".debug_info") || elf.has_section(".zdebug_info")
}

fn same_file(a: &Elf, b: &Elf) -> bool {
    std::ptr::eq(a.data, b.data)
}

fn by_build_id(id: &[u8], dirs: &[PathBuf], suffix: &str) -> Option<Elf> {
    let (first, rest) = id.split_first()?;
    let hex: String = rest.iter().map(|b| format!("{b:02x}")).collect();
    dirs.iter().find_map(|dir| {
        let path = dir.join(".build-id").join(format!("{first:02x}"));
        let elf = Elf::open(&path.join(format!("{hex}{suffix}"))).ok()?;
        (elf.build_id() == Some(id)).then_some(elf)
    })
}

fn by_debuglink(elf: &Elf, dirs: &[PathBuf]) -> Option<Elf> {
    let (name, crc) = elf.file.gnu_debuglink().ok()??;
    let name = std::str::from_utf8(name)
        .ok()
        .filter(|n| !n.contains('/'))?;
    let real = std::fs::canonicalize(&elf.path).ok()?;
    let dir = real.parent()?;
    let mut places = vec![dir.join(name), dir.join(".debug").join(name)];
    for root in dirs {
        places.push(root.join(dir.strip_prefix("/").unwrap_or(dir)).join(name));
    }
    places.into_iter().find_map(|path| {
        let found = Elf::open(&path).ok().filter(|f| !same_file(f, elf))?;
        let mut sum = flate2::Crc::new();
        sum.update(found.data);
        (sum.sum() == crc).then_some(found)
    })
}

/// The file that `dwz` moved common debug information to.
pub(crate) fn find_alternate(elf: &Elf, dirs: &[PathBuf]) -> Option<Elf> {
    let (name, id) = elf.file.gnu_debugaltlink().ok()??;
    let name = PathBuf::from(std::str::from_utf8(name).ok()?);
    let beside = elf.path.parent().unwrap_or(Path::new("/")).join(&name);
    let matches = |e: &Elf| id.is_empty() || e.build_id() == Some(id);
    Elf::open(&beside)
        .ok()
        .filter(matches)
        .or_else(|| by_build_id(id, dirs, ".debug"))
}

/// The package of split units that belongs to a file: `PROGRAM.dwp`.
pub(crate) fn find_package(elf: &Elf) -> Option<Elf> {
    let mut name = elf.path.clone().into_os_string();
    name.push(".dwp");
    Elf::open(Path::new(&name)).ok()
}

/// A split unit's own file, by the name its skeleton gives.
pub(crate) fn find_split(elf: &Elf, comp_dir: Option<&str>, name: &str) -> Option<Elf> {
    let beside = || {
        let file = Path::new(name).file_name()?;
        Elf::open(&elf.path.parent()?.join(file)).ok()
    };
    let named = Path::new(comp_dir.unwrap_or("")).join(name);
    Elf::open(&named).ok().or_else(beside)
}
