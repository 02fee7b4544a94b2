//! The registers of one frame of one thread, and the memory around them.

use crate::error::LocationError;

/// DWARF number of the stack pointer.
pub const RSP: u16 = 7;
/// DWARF number of the frame pointer.
pub const RBP: u16 = 6;
/// DWARF number of the return address column, which stands for `rip`.
pub const RIP: u16 = 16;

/// Names of the DWARF registers 0 to 16 of x86-64, in DWARF's order (not the encoding's).
pub const NAMES: [&str; 17] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15", "rip",
];

/// The first of the numbers that [`CONTROL_NAMES`] have here; no location names them.
pub const CONTROL: u16 = 0x8000;

/// What controls the floating-point units.
pub const CONTROL_NAMES: [&str; 9] = [
    "mxcsr", "fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop",
];

/// Register contents of a frame. In an outer frame those that nobody saved are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registers {
    /// General registers by DWARF number; 16 is the instruction pointer.
    pub general: [Option<u64>; 17],
    /// `xmm0` to `xmm15`.
    pub xmm: [Option<[u8; 16]>; 16],
    /// The upper halves of `ymm0` to `ymm15`, of which `xmm0` to `xmm15` are the lower ones.
    pub ymm_high: [Option<[u8; 16]>; 16],
    /// `st(0)` to `st(7)`.
    pub st: [Option<[u8; 10]>; 8],
    /// Those of [`CONTROL_NAMES`].
    pub control: Option<[u32; 9]>,
    /// The flags.
    pub eflags: Option<u64>,
    /// Base of the thread's control block.
    pub fs_base: Option<u64>,
    /// Base of `gs`.
    pub gs_base: Option<u64>,
    /// The selectors of `es`, `cs`, `ss`, `ds`, `fs` and `gs`, in DWARF's order.
    pub segments: Option<[u16; 6]>,
}

impl Registers {
    /// The instruction pointer.
    pub fn pc(&self) -> Option<u64> {
        self.general[RIP as usize]
    }

    /// The stack pointer.
    pub fn sp(&self) -> Option<u64> {
        self.general[RSP as usize]
    }

    /// A general register by DWARF number.
    pub fn get(&self, number: u16) -> Option<u64> {
        *self.general.get(number as usize)?
    }

    /// Any register's bytes by DWARF number (17 to 32 are `xmm0` to `xmm15`, with the upper halves
    /// of `ymm0` to `ymm15` where they are known, 33 to 40 `st0` to `st7`).
    pub fn bytes(&self, number: u16) -> Option<Vec<u8>> {
        match number {
            0..=16 => self.get(number).map(|v| v.to_le_bytes().to_vec()),
            17..=32 => {
                let index = number as usize - 17;
                let high = self.ymm_high[index].into_iter().flatten();
                self.xmm[index].map(|low| low.into_iter().chain(high).collect())
            }
            33..=40 => self.st[number as usize - 33].map(|v| v.to_vec()),
            49 => self.eflags.map(|v| v.to_le_bytes().to_vec()),
            50..=55 => {
                let selector = self.segments?[number as usize - 50];
                Some(u32::from(selector).to_le_bytes().to_vec())
            }
            58 => self.fs_base.map(|v| v.to_le_bytes().to_vec()),
            59 => self.gs_base.map(|v| v.to_le_bytes().to_vec()),
            CONTROL.. => {
                let all = self.control?;
                let value = all.get(usize::from(number - CONTROL))?;
                Some(value.to_le_bytes().to_vec())
            }
            _ => None,
        }
    }
}

/// Memory that can be read, of a process, a core file or an object file.
pub trait Memory {
    /// Fills the buffer or fails as a whole, naming the address that cannot be read.
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError>;

    /// Eight bytes as a word.
    fn read_u64(&self, addr: u64) -> Result<u64, LocationError> {
        let mut word = [0; 8];
        self.read(addr, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }
}
