//! Code of ours that runs in the program, to save and re-create threads with
//! one stop instead of one for each system call.
//!
//! It uses no stack and no memory but the entries it is given, and every part
//! ends in an int3. The kernel's numbers are those of x86-64.

use crate::Addr;
use std::arch::global_asm;

global_asm!(
    ".pushsection .rodata.verde_payload, \"a\"",
    ".globl verde_payload_start, verde_payload_save, verde_payload_threads",
    ".globl verde_payload_self, verde_payload_end",
    "verde_payload_start:",
    // rbx: a save entry. sigaltstack(0, entry), prctl(PR_GET_TID_ADDRESS) and others.
    // r12: where things of the process go, 0 for nowhere: the three interval timers
    // (getitimer), whether it adopts orphans, whether it has children, its keyring.
    // r13: arguments of clone3 to fork with, 0 for none; its result stays in rax: the memory is the
    // copy's as well from then on, and who writes there makes the kernel copy it.
    "verde_payload_save:",
    "test r12, r12",
    "jz 6f",
    "mov eax, 36",
    "xor edi, edi",
    "mov rsi, r12",
    "syscall",
    "mov eax, 36",
    "mov edi, 1",
    "lea rsi, [r12 + 32]",
    "syscall",
    "mov eax, 36",
    "mov edi, 2",
    "lea rsi, [r12 + 64]",
    "syscall",
    // prctl(PR_GET_CHILD_SUBREAPER)
    "mov eax, 157",
    "mov edi, 37",
    "lea rsi, [r12 + 96]",
    "syscall",
    // waitid(P_ALL, 0, 0, WNOHANG | WEXITED | WNOWAIT | __WALL, 0), which only looks
    "mov eax, 247",
    "xor edi, edi",
    "xor esi, esi",
    "xor edx, edx",
    "mov r10d, 0x41000005",
    "xor r8d, r8d",
    "syscall",
    "mov [r12 + 104], rax",
    // keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0), which makes none
    "mov eax, 250",
    "xor edi, edi",
    "mov rsi, -2",
    "xor edx, edx",
    "syscall",
    "mov [r12 + 112], rax",
    "6: mov eax, 131",
    "xor edi, edi",
    "mov rsi, rbx",
    "syscall",
    "mov eax, 157",
    "mov edi, 40",
    "lea rsi, [rbx + 24]",
    "syscall",
    // prctl(PR_GET_PDEATHSIG), prctl(PR_GET_TIMERSLACK)
    "mov eax, 157",
    "mov edi, 2",
    "lea rsi, [rbx + 32]",
    "syscall",
    "mov eax, 157",
    "mov edi, 30",
    "syscall",
    "mov [rbx + 40], rax",
    // prctl(PR_GET_TSC), prctl(PR_MCE_KILL_GET)
    "mov dword ptr [rbx + 48], 0",
    "mov eax, 157",
    "mov edi, 25",
    "lea rsi, [rbx + 48]",
    "syscall",
    "mov eax, 157",
    "mov edi, 34",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "syscall",
    "mov [rbx + 56], rax",
    // get_mempolicy
    "mov eax, 239",
    "lea rdi, [rbx + 72]",
    "lea rsi, [rbx + 80]",
    "mov edx, 1024",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "syscall",
    "mov [rbx + 64], rax",
    // prctl(PR_GET_NAME)
    "mov eax, 157",
    "mov edi, 16",
    "lea rsi, [rbx + 208]",
    "syscall",
    // keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING, 0)
    "mov eax, 250",
    "xor edi, edi",
    "mov rsi, -1",
    "xor edx, edx",
    "syscall",
    "mov [rbx + 224], rax",
    "test r13, r13",
    "jz 1f",
    "mov eax, 435",
    "mov rdi, r13",
    "mov esi, 88",
    "syscall",
    "1: int3",
    ".balign 16",
    // rbx: thread entries, r12: their number. clone3 for each.
    "verde_payload_threads:",
    "2: test r12, r12",
    "jz 3f",
    "mov eax, 435",
    "mov rdi, rbx",
    "mov esi, 88",
    "syscall",
    "test rax, rax",
    "jz verde_payload_self",
    "mov [rbx + 96], rax",
    "js 3f",
    "add rbx, 384",
    "dec r12",
    "jmp 2b",
    "3: int3",
    // A tile configuration: one tile of one row of four bytes.
    ".balign 64",
    "25: .byte 1",
    ".fill 15, 1, 0",
    ".short 4",
    ".fill 30, 1, 0",
    ".byte 1",
    ".fill 15, 1, 0",
    ".balign 16",
    // rbx: the thread's own entry.
    "verde_payload_self:",
    // set_robust_list
    "mov rdi, [rbx + 104]",
    "test rdi, rdi",
    "jz 4f",
    "mov rsi, [rbx + 112]",
    "mov eax, 273",
    "syscall",
    // rseq
    "4: mov rdi, [rbx + 120]",
    "test rdi, rdi",
    "jz 5f",
    "mov rsi, [rbx + 128]",
    "xor edx, edx",
    "mov r10, [rbx + 136]",
    "mov eax, 334",
    "syscall",
    "mov [rbx + 184], rax",
    // sigaltstack
    "5: lea rdi, [rbx + 144]",
    "xor esi, esi",
    "mov eax, 131",
    "syscall",
    // prctl(PR_SET_NAME)
    "mov edi, 15",
    "lea rsi, [rbx + 168]",
    "mov eax, 157",
    "syscall",
    // prctl(PR_SET_PDEATHSIG), prctl(PR_SET_TIMERSLACK); neither for 0.
    "mov rsi, [rbx + 192]",
    "test rsi, rsi",
    "jz 7f",
    "mov edi, 1",
    "mov eax, 157",
    "syscall",
    "7: mov rsi, [rbx + 200]",
    "test rsi, rsi",
    "jz 8f",
    "mov edi, 29",
    "mov eax, 157",
    "syscall",
    // prctl(PR_SET_TSC), prctl(PR_MCE_KILL, PR_MCE_KILL_SET), set_mempolicy; none for 0.
    "8: mov rsi, [rbx + 208]",
    "test rsi, rsi",
    "jz 9f",
    "mov edi, 26",
    "mov eax, 157",
    "syscall",
    "9: mov rdx, [rbx + 216]",
    "dec rdx",
    "js 22f",
    "mov edi, 33",
    "mov esi, 1",
    "xor r10d, r10d",
    "xor r8d, r8d",
    "mov eax, 157",
    "syscall",
    "22: mov rdi, [rbx + 224]",
    "dec rdi",
    "js 23f",
    "lea rsi, [rbx + 232]",
    "mov edx, 1024",
    "mov eax, 238",
    "syscall",
    // The kernel makes room for tiles when a thread first uses one.
    "23: cmp qword ptr [rbx + 360], 0",
    "jz 24f",
    "ldtilecfg [rip + 25b]",
    "tilezero tmm0",
    "tilerelease",
    "24: int3",
    "verde_payload_end:",
    ".popsection",
);

unsafe extern "C" {
    static verde_payload_start: u8;
    static verde_payload_save: u8;
    static verde_payload_threads: u8;
    static verde_payload_self: u8;
    static verde_payload_end: u8;
}

fn offset(of: *const u8) -> u64 {
    of as u64 - (&raw const verde_payload_start) as u64
}

/// The code, to be copied anywhere.
pub fn code() -> &'static [u8] {
    let start = &raw const verde_payload_start;
    // SAFETY: both symbols bound one object of read-only data.
    unsafe { std::slice::from_raw_parts(start, offset(&raw const verde_payload_end) as usize) }
}

/// A part of the code in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    base: Addr,
    begin: Addr,
}

impl Part {
    fn new(base: Addr, begin: *const u8) -> Part {
        Part {
            base,
            begin: base + offset(begin),
        }
    }

    /// Where it begins.
    pub fn begin(&self) -> Addr {
        self.begin
    }

    /// A thread that stands here has come to an int3 of the code. Anything else that stops it with
    /// the same signal was sent by somebody.
    pub fn is_over(&self, pc: Addr) -> bool {
        let before = pc.0.wrapping_sub(self.base.0).wrapping_sub(1);
        let byte = usize::try_from(before).ok().and_then(|i| code().get(i));
        byte == Some(&INT3)
    }
}

const INT3: u8 = 0xcc;

/// Where in the code a thread asks for its own state; rbx: a [`SaveEntry`];
/// r12: room for [`OF_PROCESS`] bytes, or 0; r13: [`CloneArgs`] to fork with at last, or 0. What
/// the fork has answered is in rax at the end.
pub fn save(base: Addr) -> Part {
    Part::new(base, &raw const verde_payload_save)
}

/// Interval timers of a process, and the bytes of one: period and time left.
pub const INTERVALS: usize = 3;
/// Bytes of one.
pub const INTERVAL_SIZE: u64 = 32;
/// Bytes of what is the process's: [`INTERVALS`], a word that says whether it
/// adopts orphans, and what the kernel said when it asked for its children and its keyring.
pub const OF_PROCESS: u64 = INTERVALS as u64 * INTERVAL_SIZE + 24;

/// Where in the code threads are created; rbx: the first [`ThreadEntry`], r12:
/// how many. Stops early at an entry whose result is an error.
pub fn threads(base: Addr) -> Part {
    Part::new(base, &raw const verde_payload_threads)
}

/// Where in the code a thread sets its own state; rbx: its [`ThreadEntry`].
pub fn own_state(base: Addr) -> Part {
    Part::new(base, &raw const verde_payload_self)
}

/// An alternate signal stack as the kernel describes it (`stack_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AltStack {
    words: [u64; 3],
}

impl AltStack {
    /// None.
    pub const OFF: AltStack = AltStack {
        words: [0, libc::SS_DISABLE as u64, 0],
    };

    /// To be set again: being on it is no property of the stack.
    pub fn settable(self) -> AltStack {
        let mut words = self.words;
        words[1] &= !(libc::SS_ONSTACK as u64);
        AltStack { words }
    }
}

/// What a thread said about itself.
#[derive(Clone, Copy, Debug)]
pub struct SaveEntry {
    /// Its alternate signal stack.
    pub stack: AltStack,
    /// The word that the kernel clears when it ends, 0 for none.
    pub clear_tid: u64,
    /// Its attributes.
    pub attributes: Attributes,
    /// Its name, NUL at the end.
    pub name: [u8; 16],
    /// It has a keyring of its own.
    pub has_keyring: bool,
}

/// What the kernel said when it was asked for a keyring: its id, or why there is none.
pub fn is_keyring(answer: u64) -> bool {
    answer as i64 > 0
}

/// Words of a set of memory nodes.
const NODES: usize = 16;

/// Where a thread gets its memory (`set_mempolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPolicy {
    mode: u64,
    nodes: [u64; NODES],
}

/// What a thread has asked of the kernel, mostly by `prctl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The signal that it gets when its parent ends, 0 for none.
    pub parent_signal: u64,
    /// How late its timers may be, in nanoseconds; 0: nothing to choose.
    pub timer_slack: u64,
    /// Whether it may read the CPU's time stamps (`PR_SET_TSC`).
    pub time_stamps: Option<u64>,
    /// When it hears of broken memory (`PR_MCE_KILL`).
    pub memory_errors: Option<u64>,
    /// Where it gets memory.
    pub memory_policy: Option<MemoryPolicy>,
}

impl Attributes {
    /// Without what a thread inherits from the one that creates it.
    pub fn beyond(&self, creator: &Attributes) -> Attributes {
        fn unlike<T: Copy + PartialEq>(own: Option<T>, inherited: Option<T>) -> Option<T> {
            own.filter(|_| own != inherited)
        }
        Attributes {
            time_stamps: unlike(self.time_stamps, creator.time_stamps),
            memory_errors: unlike(self.memory_errors, creator.memory_errors),
            memory_policy: unlike(self.memory_policy, creator.memory_policy),
            ..*self
        }
    }
}

impl SaveEntry {
    /// Bytes of one entry.
    pub const SIZE: u64 = 232;

    /// Reads an entry that the code has filled in.
    pub fn decode(bytes: &[u8]) -> Option<SaveEntry> {
        let word = |i: usize| {
            let bytes = bytes.get(8 * i..8 * i + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        // The flags are an int with padding behind it.
        let words = [word(0)?, word(1)? & 0xffff_ffff, word(2)?];
        let mut nodes = [0; NODES];
        for (i, place) in nodes.iter_mut().enumerate() {
            *place = word(10 + i)?;
        }
        let policy = MemoryPolicy {
            mode: word(9)? & 0xffff_ffff,
            nodes,
        };
        Some(SaveEntry {
            stack: AltStack { words },
            clear_tid: word(3)?,
            attributes: Attributes {
                parent_signal: word(4)? & 0xffff_ffff,
                // An error is none.
                timer_slack: Some(word(5)?).filter(|w| *w as i64 > 0).unwrap_or(0),
                time_stamps: Some(word(6)? & 0xffff_ffff).filter(|w| *w != 0),
                memory_errors: Some(word(7)?).filter(|w| *w as i64 >= 0),
                // Not every kernel has them.
                memory_policy: Some(policy).filter(|_| word(8) == Some(0)),
            },
            name: bytes.get(208..224)?.try_into().ok()?,
            has_keyring: is_keyring(word(28)?),
        })
    }
}

/// Arguments of clone3, in the kernel's order (`struct clone_args`).
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct CloneArgs {
    pub flags: u64,
    pub child_tid: u64,
    pub tls: u64,
    /// Address of an array of ids, one for each PID namespace level.
    pub set_tid: u64,
    pub set_tid_size: u64,
}

impl CloneArgs {
    /// Bytes of the kernel's structure.
    pub const SIZE: u64 = 88;
    /// Where `set_tid_size` is; `set_tid` is the word before.
    pub const SET_TID_SIZE: u64 = 72;

    /// The kernel's structure.
    pub fn words(&self) -> [u64; 11] {
        let mut words = [0; 11];
        words[0] = self.flags;
        words[2] = self.child_tid;
        words[7] = self.tls;
        words[8] = self.set_tid;
        words[9] = self.set_tid_size;
        words
    }

    /// The same as bytes.
    pub fn encode(&self) -> [u8; Self::SIZE as usize] {
        let mut bytes = [0; Self::SIZE as usize];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.words()) {
            *place = word.to_ne_bytes();
        }
        bytes
    }
}

/// A thread to be created, and the state it gives itself.
#[derive(Clone, Copy, Debug)]
pub struct ThreadEntry {
    /// How to create it; `set_tid` leads to this entry's `tid`.
    pub clone: CloneArgs,
    /// The id it shall have.
    pub tid: i32,
    /// Its list of robust futexes and the size of its head.
    pub robust: (u64, u64),
    /// Its restartable sequences: address, size, signature.
    pub rseq: (u64, u64, u64),
    /// Its alternate signal stack.
    pub stack: AltStack,
    /// Its name, NUL at the end.
    pub name: [u8; 16],
    /// Its attributes.
    pub attributes: Attributes,
    /// It needs room for tiles.
    pub tiles: bool,
}

impl ThreadEntry {
    /// Bytes of one entry.
    pub const SIZE: u64 = 384;
    /// Where the id is.
    pub const TID: u64 = 88;
    /// Where clone3 leaves its result.
    pub const RESULT: u64 = 96;
    /// Where the rseq system call leaves its result.
    pub const RSEQ_RESULT: u64 = 184;

    /// The entry as the code reads it.
    pub fn encode(&self) -> [u8; Self::SIZE as usize] {
        let mut words = [0u64; Self::SIZE as usize / 8];
        words[..11].copy_from_slice(&self.clone.words());
        words[11] = self.tid as u32 as u64;
        (words[13], words[14]) = self.robust;
        (words[15], words[16], words[17]) = self.rseq;
        words[18..21].copy_from_slice(&self.stack.words);
        words[24] = self.attributes.parent_signal;
        words[25] = self.attributes.timer_slack;
        // One more than the value: 0 is nothing to set.
        words[26] = self.attributes.time_stamps.unwrap_or(0);
        words[27] = self.attributes.memory_errors.map_or(0, |e| e + 1);
        if let Some(policy) = &self.attributes.memory_policy {
            words[28] = policy.mode + 1;
            words[29..29 + NODES].copy_from_slice(&policy.nodes);
        }
        words[29 + NODES] = u64::from(self.tiles);
        let mut bytes = [0; Self::SIZE as usize];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
        bytes[168..184].copy_from_slice(&self.name);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_inside_and_end_in_int3() {
        let code = code();
        let base = Addr(0x1000);
        let end = base + code.len() as u64;
        let parts = [save(base), threads(base), own_state(base)];
        for part in parts {
            assert!(part.begin() < end);
            assert!(!part.is_over(part.begin()) && !part.is_over(part.begin() + 1));
            assert!(part.is_over(end) && !part.is_over(end + 1));
        }
        assert_eq!(parts[0].begin(), base);
        assert!(parts[1].begin() < parts[2].begin());
    }

    #[test]
    fn entries_have_their_fields_where_the_code_looks() {
        let entry = ThreadEntry {
            clone: CloneArgs {
                flags: 1,
                set_tid_size: 2,
                ..CloneArgs::default()
            },
            tid: 3,
            robust: (4, 5),
            rseq: (6, 7, 8),
            stack: AltStack { words: [9, 10, 11] },
            name: *b"0123456789abcde\0",
            attributes: Attributes {
                parent_signal: 12,
                timer_slack: 13,
                time_stamps: Some(14),
                memory_errors: Some(14),
                memory_policy: Some(MemoryPolicy {
                    mode: 15,
                    nodes: [17; NODES],
                }),
            },
            tiles: true,
        };
        let bytes = entry.encode();
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let places = [
            0, 72, 88, 104, 112, 120, 128, 136, 144, 152, 160, 192, 200, 208, 216, 224, 232, 352,
            360,
        ];
        assert_eq!(
            places.map(word),
            [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 17, 1
            ]
        );
        assert_eq!(&bytes[168..184], b"0123456789abcde\0");
    }
}
