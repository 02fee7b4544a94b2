#!/usr/bin/env bash
# Time and memory to find where a breakpoint on a function goes, here and in gdb, in the same run:
#   bench/symbols.sh PROGRAM [FUNCTION]
# A debug build of a large program is a good PROGRAM: what counts is the size of its debug information.
set -euo pipefail
program=$(realpath "${1:?usage: bench/symbols.sh PROGRAM [FUNCTION]}")
function=${2:-main}
cd "$(dirname "$0")/.."
cargo build --quiet --release -p verde-symbols --example resolve
resolve=${CARGO_TARGET_DIR:-target}/release/examples/resolve

size -A "$program" | awk '/debug/ { s += $2 } END { printf "debug information: %.1f MB\n", s / 1e6 }'
for run in 1 2 3; do
    /usr/bin/time -f "verde  %es  %M kB" "$resolve" "$program" "$function" 2>&1 >/dev/null | tail -1
    /usr/bin/time -f "gdb    %es  %M kB" gdb -nx -batch -ex "break $function" "$program" 2>&1 >/dev/null | tail -1
done
