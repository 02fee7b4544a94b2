//! What the paper published: a Core i7-3770 at 3.4 GHz, gdb's Python, CRIU for checkpoints.

/// Gap between events in ms and the overhead that the paper states for it (1 is twice as slow).
/// The last two are upper bounds.
pub const GAPS: [(f64, f64); 3] = [(0.5, 1.0), (3.0, 0.2), (10.0, 0.05)];

/// Seconds for a breakpoint; on their slower machine 300 us.
pub const EVENT: f64 = 95e-6;

/// MB of the process, seconds to checkpoint and to restore, in RAM.
pub const CHECKPOINTS: [(u32, f64, f64); 11] = [
    (1, 0.0205, 0.0469),
    (5, 0.0243, 0.0490),
    (10, 0.0237, 0.0438),
    (25, 0.0274, 0.0524),
    (50, 0.0348, 0.0556),
    (75, 0.0433, 0.0678),
    (100, 0.0494, 0.0766),
    (250, 0.0918, 0.1086),
    (500, 0.1732, 0.1796),
    (750, 0.2347, 0.2454),
    (1000, 0.3018, 0.3098),
];

/// How much faster dynamic instrumentation was on the stack.
pub const STACK: f64 = 2.2;
