//! Vector and floating point state, as the XSAVE image the kernel hands out.

/// The XSAVE area of a stopped thread. Kept as bytes: restoring it must not
/// lose components that this program does not know.
#[derive(Clone, Debug)]
pub struct XState {
    pub(crate) bytes: Vec<u8>,
}

/// Offset of xmm0 in the legacy (FXSAVE) part.
const XMM: usize = 160;
/// Offset of st0 in the legacy part.
const ST: usize = 32;
/// Where XSAVE keeps the upper halves of ymm in the standard format that
/// ptrace uses, on every CPU so far.
const YMM_HIGH: usize = 576;

/// XSAVE's components of AVX-512: mask registers, upper halves of zmm0 to 15, all of zmm16 to 31.
const MASKS: u32 = 5;
const ZMM_HIGH: u32 = 6;
const ZMM_MORE: u32 = 7;

/// State bits of the components.
const SSE: u8 = 2;
const AVX: u8 = 4;

/// Where the state bits are, and the byte of them with that of tiles.
const STATE_BITS: usize = 512;
const TILES: (usize, u8) = (STATE_BITS + 2, 1 << 2);

impl XState {
    /// The thread has something in tiles (AMX). The kernel takes that back only for a thread
    /// that has used tiles.
    pub fn has_tiles(&self) -> bool {
        let (at, bit) = TILES;
        self.bytes.get(at).is_some_and(|bits| bits & bit != 0)
    }

    /// The low 16 bytes of vector register `i` (0..16).
    pub fn xmm(&self, i: usize) -> Option<[u8; 16]> {
        self.at(XMM, 16, i)
    }

    /// The upper 16 bytes of ymm register `i` (0..16).
    pub fn ymm_high(&self, i: usize) -> Option<[u8; 16]> {
        self.at(YMM_HIGH, 16, i)
    }

    /// Mask register `i` (0..8).
    pub fn mask(&self, i: usize) -> Option<u64> {
        let start = component(MASKS)?.checked_add(8 * i)?;
        let bytes = self.bytes.get(start..start + 8).filter(|_| i < 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// All of vector register `i` (0..32), with zeros for what the CPU does not have.
    pub fn zmm(&self, i: usize) -> Option<[u8; 64]> {
        let mut all = [0; 64];
        if i >= 16 {
            let start = component(ZMM_MORE)?.checked_add(64 * (i - 16))?;
            let bytes = self.bytes.get(start..start + 64).filter(|_| i < 32)?;
            all.copy_from_slice(bytes);
            return Some(all);
        }
        all[..16].copy_from_slice(&self.xmm(i)?);
        if let Some(high) = self.ymm_high(i) {
            all[16..32].copy_from_slice(&high);
        }
        let high = component(ZMM_HIGH).and_then(|c| self.bytes.get(c + 32 * i..c + 32 * (i + 1)));
        if let Some(high) = high {
            all[32..].copy_from_slice(high);
        }
        Some(all)
    }

    /// x87 register `i` (0..8), 10 meaningful bytes.
    pub fn st(&self, i: usize) -> Option<[u8; 16]> {
        if i >= 8 {
            return None;
        }
        self.at(ST, 16, i)
    }

    /// What controls the SSE unit.
    pub fn mxcsr(&self) -> Option<u32> {
        self.word(24)
    }

    /// What controls the x87: control, status and tag word, then selector and offset of the last
    /// instruction, those of its operand, and its code.
    pub fn x87(&self) -> Option<[u32; 8]> {
        let (control, used) = (self.word(0)?, self.word(4)?);
        let status = control >> 16;
        Some([
            control & 0xffff,
            status,
            self.tags(status, used)?,
            self.word(12)? & 0xffff,
            self.word(8)?,
            self.word(20)? & 0xffff,
            self.word(16)?,
            used >> 16 & 0x7ff,
        ])
    }

    /// Two bits for each register, of which XSAVE keeps whether it is used: 0 is a number, 1 zero,
    /// 2 anything else, 3 nothing.
    fn tags(&self, status: u32, used: u32) -> Option<u32> {
        let top = status >> 11 & 7;
        let mut tags = 0;
        for register in 0..8 {
            let value = self.st((register + 8 - top) as usize % 8)?;
            let exponent = u16::from_le_bytes([value[8], value[9]]) & 0x7fff;
            let tag = match exponent {
                _ if used >> register & 1 == 0 => 3,
                0 if value[..8] == [0; 8] => 1,
                0 | 0x7fff => 2,
                _ if value[7] & 0x80 == 0 => 2,
                _ => 0,
            };
            tags |= tag << (2 * register);
        }
        Some(tags)
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Changes the low 16 bytes of vector register `i`.
    pub fn set_xmm(&mut self, i: usize, value: [u8; 16]) -> bool {
        self.set(XMM, SSE, i, value)
    }

    /// Changes the upper 16 bytes of ymm register `i`.
    pub fn set_ymm_high(&mut self, i: usize, value: [u8; 16]) -> bool {
        self.set(YMM_HIGH, AVX, i, value)
    }

    fn set(&mut self, base: usize, component: u8, i: usize, value: [u8; 16]) -> bool {
        if i >= 16 {
            return false;
        }
        let Some(place) = self.bytes.get_mut(base + 16 * i..base + 16 * (i + 1)) else {
            return false;
        };
        place.copy_from_slice(&value);
        // The state bits say which components are not in their initial
        // state; without its bit the kernel would load zeros.
        if let Some(bits) = self.bytes.get_mut(STATE_BITS) {
            *bits |= component;
        }
        true
    }

    fn at(&self, base: usize, step: usize, i: usize) -> Option<[u8; 16]> {
        if i >= 16 {
            return None;
        }
        let start = base + step * i;
        self.bytes.get(start..start + 16)?.try_into().ok()
    }
}

/// Where the CPU's XSAVE keeps a component in the standard format; `None` if it has none.
fn component(number: u32) -> Option<usize> {
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
    const XSAVE_LEAF: u32 = 0xd;
    if __get_cpuid_max(0).0 < XSAVE_LEAF {
        return None;
    }
    let found = __cpuid_count(XSAVE_LEAF, number);
    (found.eax > 0).then_some(found.ebx as usize)
}
