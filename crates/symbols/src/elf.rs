//! One ELF file: headers, sections (decompressed on demand), symbol tables.

use crate::addr::FileAddr;
use crate::error::Error;
use object::elf;
use object::read::elf::{
    ElfFile64, FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _,
};
use object::{
    LittleEndian as LE, Object, ObjectSection, ObjectSymbol, SectionIndex, SectionKind, SymbolKind,
};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

type File = ElfFile64<'static, LE, &'static [u8]>;

/// How the file is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Loaded where it says (ET_EXEC).
    Executable,
    /// Loaded anywhere: a position-independent executable or a shared library (ET_DYN).
    Dynamic,
    /// A core file (ET_CORE).
    Core,
    /// Anything else (a relocatable object, a debug file without type).
    Other,
}

/// A loadable part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address, as the file counts.
    pub addr: FileAddr,
    /// Bytes in memory.
    pub size: u64,
    /// Where its bytes are in the file, and how many.
    pub file: (u64, u64),
    /// Readable, writable, executable.
    pub flags: (bool, bool, bool),
}

/// The initial image of thread-local storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsImage {
    /// Bytes in memory.
    pub size: u64,
    /// Alignment of the block.
    pub align: u64,
}

/// A symbol of `.symtab` or `.dynsym`.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// The name as the linker knows it.
    pub name: &'static str,
    /// Its address.
    pub addr: FileAddr,
    /// Its size, 0 when unknown.
    pub size: u64,
    /// Code or not.
    pub is_code: bool,
    /// A resolver (IFUNC): its result, not the symbol, is the function that runs.
    pub is_ifunc: bool,
    /// Thread-local: `addr` is an offset in the TLS block.
    pub is_tls: bool,
    /// Visible outside its file.
    pub is_global: bool,
}

/// One mapped ELF file.
pub(crate) struct Elf {
    pub path: PathBuf,
    pub data: &'static [u8],
    pub file: File,
    sections: Mutex<HashMap<String, &'static [u8]>>,
    symbols: OnceLock<Vec<Symbol>>,
}

impl Elf {
    pub fn open(path: &Path) -> Result<Elf, Error> {
        Elf::parse(path.to_owned(), crate::bytes::map(path)?)
    }

    pub fn parse(path: PathBuf, data: &'static [u8]) -> Result<Elf, Error> {
        if data.len() < 20 || data[..4] != elf::ELFMAG {
            return Err(Error::NotElf(path));
        }
        let machine = u16::from_le_bytes([data[18], data[19]]);
        if data[4] != elf::ELFCLASS64.0 || data[5] != elf::ELFDATA2LSB.0 || machine != 62 {
            let machine = foreign_name(data);
            return Err(Error::Foreign { path, machine });
        }
        match File::parse(data) {
            Ok(file) => Ok(Elf {
                path,
                data,
                file,
                sections: Mutex::default(),
                symbols: OnceLock::new(),
            }),
            Err(e) => Err(Error::Malformed {
                path,
                detail: e.to_string(),
            }),
        }
    }

    pub fn kind(&self) -> Kind {
        match self.file.elf_header().e_type(LE) {
            elf::ET_EXEC => Kind::Executable,
            elf::ET_DYN => Kind::Dynamic,
            elf::ET_CORE => Kind::Core,
            _ => Kind::Other,
        }
    }

    pub fn entry(&self) -> FileAddr {
        FileAddr(self.file.elf_header().e_entry(LE))
    }

    pub fn segments(&self) -> Vec<Segment> {
        self.program_headers(elf::PT_LOAD)
            .map(|p| {
                let flags = p.p_flags(LE).0;
                Segment {
                    addr: FileAddr(p.p_vaddr(LE)),
                    size: p.p_memsz(LE),
                    file: (p.p_offset(LE), p.p_filesz(LE)),
                    flags: (flags & 4 != 0, flags & 2 != 0, flags & 1 != 0),
                }
            })
            .collect()
    }

    fn program_headers(
        &self,
        kind: elf::ProgramType,
    ) -> impl Iterator<Item = &'static elf::ProgramHeader64<LE>> {
        let all = self.file.elf_program_headers();
        all.iter().filter(move |p| p.p_type(LE) == kind)
    }

    pub fn tls(&self) -> Option<TlsImage> {
        self.program_headers(elf::PT_TLS).next().map(|p| TlsImage {
            size: p.p_memsz(LE),
            align: p.p_align(LE).max(1),
        })
    }

    pub fn interpreter(&self) -> Option<PathBuf> {
        let p = self.program_headers(elf::PT_INTERP).next()?;
        let bytes = p.interpreter(LE, self.data).ok()??;
        Some(PathBuf::from(String::from_utf8_lossy(bytes).into_owned()))
    }

    pub fn build_id(&self) -> Option<&'static [u8]> {
        self.file.build_id().ok().flatten()
    }

    /// Bytes of the file at an address, as far as the file holds them.
    pub fn bytes_at(&self, addr: FileAddr, len: usize) -> Option<&'static [u8]> {
        self.segments().into_iter().find_map(|s| {
            let into = addr.0.checked_sub(s.addr.0)?;
            let left = s.file.1.checked_sub(into)?.min(len as u64) as usize;
            let start = usize::try_from(s.file.0.checked_add(into)?).ok()?;
            (left > 0).then(|| self.data.get(start..start + left))?
        })
    }

    /// Address and size of a section, when it exists.
    pub fn section_range(&self, name: &str) -> Option<(FileAddr, u64)> {
        let s = self.file.section_by_name(name)?;
        Some((FileAddr(s.address()), s.size()))
    }

    /// The name of the loaded section around an address.
    pub fn section_at(&self, addr: FileAddr) -> Option<String> {
        // What is not loaded has no address; .tbss takes no room where it seems to be.
        let around = self.file.sections().find(|s| {
            let into = addr.0.checked_sub(s.address());
            let inside = into.is_some_and(|into| into < s.size());
            inside && s.address() != 0 && s.name() != Ok(".tbss")
        })?;
        Some(around.name().ok()?.to_owned())
    }

    /// Whether the section exists and holds bytes in this file (a debug file keeps `.text` as NOBITS).
    pub fn has_section(&self, name: &str) -> bool {
        self.file
            .section_by_name(name)
            .is_some_and(|s| s.size() > 0 && s.elf_section_header().sh_type(LE) != elf::SHT_NOBITS)
    }

    /// A section's bytes, decompressed when needed; empty when missing or unreadable.
    pub fn section(&self, name: &str) -> &'static [u8] {
        let mut cache = self.sections.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(&bytes) = cache.get(name) {
            return bytes;
        }
        let bytes = self.load_section(name).unwrap_or(&[]);
        cache.insert(name.to_owned(), bytes);
        bytes
    }

    fn load_section(&self, name: &str) -> Option<&'static [u8]> {
        // Older tools say by the name that a section is compressed.
        let packed = || {
            let name = name.strip_prefix(".debug_")?;
            self.file.section_by_name(&format!(".zdebug_{name}"))
        };
        let section = self.file.section_by_name(name).or_else(packed)?;
        let data = section.compressed_data().ok()?;
        let packed: &'static [u8] = data.data;
        let size = usize::try_from(data.uncompressed_size).ok()?;
        // A corrupt header may claim any size; deflate never does better than 1032 to 1, and
        // no linker writes debug information that zstd shrinks further than that either.
        if size > packed.len().saturating_mul(1032).saturating_add(1 << 16) {
            return None;
        }
        use object::CompressionFormat as Format;
        match data.format {
            Format::None => Some(packed),
            Format::Zlib => read_all(flate2::read::ZlibDecoder::new(packed), size),
            Format::Zstandard => {
                read_all(ruzstd::decoding::StreamingDecoder::new(packed).ok()?, size)
            }
            _ => None,
        }
    }

    /// Defined symbols, `.symtab` if there is one, else `.dynsym`.
    pub fn symbols(&self) -> &[Symbol] {
        self.symbols.get_or_init(|| {
            let mut out = Vec::new();
            let has_symtab = self.file.symbol_table().is_some_and(|t| {
                use object::ObjectSymbolTable;
                t.symbols().nth(1).is_some()
            });
            let code: Vec<SectionIndex> = (self.file.sections())
                .filter(|s| s.kind() == SectionKind::Text)
                .map(|s| s.index())
                .collect();
            let read = |s| symbol(s, |index| code.contains(&index));
            if has_symtab {
                out.extend(self.file.symbols().filter_map(read));
            } else {
                out.extend(self.file.dynamic_symbols().filter_map(read));
            }
            out
        })
    }
}

/// `in_code`: whether a section has instructions.
fn symbol<'a>(
    s: object::read::elf::ElfSymbol64<'static, 'a, LE, &'static [u8]>,
    in_code: impl Fn(SectionIndex) -> bool,
) -> Option<Symbol> {
    let raw = s.elf_symbol();
    let kind = raw.st_type();
    // Assembler may leave the type out.
    let is_label = kind == elf::STT_NOTYPE && s.section_index().is_some_and(in_code);
    let is_code = is_label || matches!(s.kind(), SymbolKind::Text) || kind == elf::STT_GNU_IFUNC;
    let is_tls = kind == elf::STT_TLS;
    let is_data = kind == elf::STT_OBJECT || kind == elf::STT_NOTYPE;
    if s.is_undefined() || !(is_code || is_tls || is_data) {
        return None;
    }
    // Absolute symbols name versions and sizes, not places.
    if raw.st_shndx(LE) == elf::SHN_ABS {
        return None;
    }
    // A linker writes the version into the names of `.symtab`: `fopen@@GLIBC_2.2.5`.
    let name = s.name().ok()?.split('@').next()?;
    if name.is_empty() {
        return None;
    }
    Some(Symbol {
        name,
        addr: FileAddr(s.address()),
        size: s.size(),
        is_code,
        is_ifunc: kind == elf::STT_GNU_IFUNC,
        is_tls,
        is_global: s.is_global(),
    })
}

fn read_all(mut from: impl Read, size: usize) -> Option<&'static [u8]> {
    let mut out = Vec::new();
    out.try_reserve_exact(size).ok()?;
    from.by_ref().take(size as u64).read_to_end(&mut out).ok()?;
    (out.len() == size).then(|| &*out.leak())
}

fn foreign_name(data: &[u8]) -> String {
    let word = [data[18], data[19]];
    let machine = if data[5] == elf::ELFDATA2MSB.0 {
        u16::from_be_bytes(word)
    } else {
        u16::from_le_bytes(word)
    };
    let name = match machine {
        3 => "i386",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "PowerPC64",
        22 => "S390",
        40 => "ARM",
        62 => "x86-64 with 32-bit pointers",
        183 => "AArch64",
        243 => "RISC-V",
        258 => "LoongArch",
        n => return format!("ELF machine {n}"),
    };
    name.to_owned()
}
