//! What a function's own code does with its first instruction.

use iced_x86::{Decoder, DecoderOptions, FlowControl};
use verde_symbols::{Function, Module};

/// Larger functions have a frame to set up, which their loops do not go back to.
const MOST: u64 = 1 << 16;

/// Whether a loop of a function begins with its first instruction: not every arrival there is a
/// call.
pub(super) fn jumps_back(module: &Module, function: &Function) -> bool {
    let entry = function.entry;
    let mut ranges = function.ranges.iter();
    let Some((_, end)) = ranges.find(|(from, to)| *from <= entry && entry < *to) else {
        return false;
    };
    let size = end.0.wrapping_sub(entry.0).min(MOST);
    let Some(code) = module.bytes_at(entry, size as usize) else {
        return false;
    };
    let decoder = Decoder::with_ip(64, code, entry.0, DecoderOptions::NONE);
    decoder.into_iter().any(|i| {
        let is_jump = matches!(
            i.flow_control(),
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
        );
        is_jump && i.near_branch_target() == entry.0
    })
}
