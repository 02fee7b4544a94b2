//! Abbreviations, compiled for skipping: what has a fixed size is passed by one addition.

use gimli::constants as dw;
use std::collections::HashMap;

/// What the walk wants to know of one attribute.
#[derive(Clone, Copy)]
pub(crate) struct Attr {
    pub name: u16,
    pub form: u16,
    pub implicit: i64,
}

pub(crate) struct Abbrev {
    pub tag: u16,
    pub children: bool,
    /// Bytes of all attributes together when every form has a fixed size.
    pub fixed: Option<u32>,
    pub attrs: Box<[Attr]>,
}

/// The abbreviations of a unit, by code.
pub(crate) struct Abbrevs {
    dense: Vec<Abbrev>,
    sparse: HashMap<u64, Abbrev>,
}

/// Sizes that forms depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub address: u8,
    pub offset: u8,
    pub version: u16,
}

impl Abbrevs {
    pub fn parse(mut data: &[u8], sizes: Sizes) -> Abbrevs {
        let mut out = Abbrevs {
            dense: Vec::new(),
            sparse: HashMap::new(),
        };
        while let Some((code, abbrev)) = parse_abbrev(&mut data, sizes) {
            if code == out.dense.len() as u64 + 1 {
                out.dense.push(abbrev);
            } else {
                out.sparse.insert(code, abbrev);
            }
        }
        out
    }

    /// Whether some abbreviation is of this kind.
    pub fn any(&self, is: impl Fn(&Abbrev) -> bool) -> bool {
        self.dense.iter().chain(self.sparse.values()).any(is)
    }

    pub fn get(&self, code: u64) -> Option<&Abbrev> {
        self.dense
            .get(code.wrapping_sub(1) as usize)
            .or_else(|| self.sparse.get(&code))
    }
}

pub(crate) fn parse_abbrev(data: &mut &[u8], sizes: Sizes) -> Option<(u64, Abbrev)> {
    let code = uleb(data).filter(|&c| c != 0)?;
    let tag = u16::try_from(uleb(data)?).ok()?;
    let children = take(data, 1)?[0] != 0;
    let mut attrs = Vec::new();
    let mut fixed = Some(0u32);
    loop {
        let name = uleb(data)?;
        let form = u16::try_from(uleb(data)?).ok()?;
        if name == 0 && form == 0 {
            break;
        }
        let implicit = if form == dw::DW_FORM_implicit_const.0 {
            sleb(data)?
        } else {
            0
        };
        let name = u16::try_from(name).unwrap_or(u16::MAX);
        fixed = fixed.and_then(|n| n.checked_add(fixed_size(form, sizes)?));
        attrs.push(Attr {
            name,
            form,
            implicit,
        });
    }
    let attrs = attrs.into_boxed_slice();
    Some((
        code,
        Abbrev {
            tag,
            children,
            fixed,
            attrs,
        },
    ))
}

pub(crate) fn fixed_size(form: u16, sizes: Sizes) -> Option<u32> {
    Some(match dw::DwForm(form) {
        dw::DW_FORM_addr => sizes.address.into(),
        dw::DW_FORM_flag_present | dw::DW_FORM_implicit_const => 0,
        dw::DW_FORM_data1
        | dw::DW_FORM_ref1
        | dw::DW_FORM_flag
        | dw::DW_FORM_strx1
        | dw::DW_FORM_addrx1 => 1,
        dw::DW_FORM_data2 | dw::DW_FORM_ref2 | dw::DW_FORM_strx2 | dw::DW_FORM_addrx2 => 2,
        dw::DW_FORM_strx3 | dw::DW_FORM_addrx3 => 3,
        dw::DW_FORM_data4
        | dw::DW_FORM_ref4
        | dw::DW_FORM_ref_sup4
        | dw::DW_FORM_strx4
        | dw::DW_FORM_addrx4 => 4,
        dw::DW_FORM_data8 | dw::DW_FORM_ref8 | dw::DW_FORM_ref_sup8 | dw::DW_FORM_ref_sig8 => 8,
        dw::DW_FORM_data16 => 16,
        dw::DW_FORM_strp
        | dw::DW_FORM_line_strp
        | dw::DW_FORM_sec_offset
        | dw::DW_FORM_strp_sup
        | dw::DW_FORM_GNU_ref_alt
        | dw::DW_FORM_GNU_strp_alt => sizes.offset.into(),
        dw::DW_FORM_ref_addr if sizes.version <= 2 => sizes.address.into(),
        dw::DW_FORM_ref_addr => sizes.offset.into(),
        _ => return None,
    })
}

pub(crate) fn take<'a>(data: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (head, rest) = data.split_at_checked(n)?;
    *data = rest;
    Some(head)
}

pub(crate) fn uleb(data: &mut &[u8]) -> Option<u64> {
    let first = *data.first()?;
    if first < 0x80 {
        *data = &data[1..];
        return Some(first.into());
    }
    let mut value = 0u64;
    for (i, &byte) in data.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32)?;
        if byte < 0x80 {
            *data = &data[i + 1..];
            return Some(value);
        }
    }
    None
}

pub(crate) fn sleb(data: &mut &[u8]) -> Option<i64> {
    let before = data.len();
    let raw = uleb(data)?;
    let bits = 7 * (before - data.len()) as u32;
    Some(if bits < 64 {
        ((raw << (64 - bits)) as i64) >> (64 - bits)
    } else {
        raw as i64
    })
}

pub(crate) fn fixed_uint(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}
