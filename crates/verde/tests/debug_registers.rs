//! Registers of the floating-point and vector units.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r"int main(void) {
    volatile double d = 1.5, e = 3;
    volatile long double l = 2.25L;
    l = l * d;
    d = d / e;
    d = d / 0.3;
    return (int)l - 3;
}
";

#[test]
fn what_controls_the_units_is_shown() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let asked = [
        "print $mxcsr",
        "print/x $mxcsr",
        "print $mxcsr & 63",
        "print $fctrl",
        "print $fstat",
        "print/x $ftag",
        "print $fiseg",
        "print $foseg",
        "print/x $fop",
        "print $st0",
        "info registers mxcsr fctrl fstat ftag",
        "whatis $fctrl",
    ];
    let mut commands = vec!["break 4", "run"];
    // Numbers are on the x87's stack, then the SSE unit has rounded.
    for step in ["stepi", "stepi", "stepi", "next", "next", "next"] {
        commands.push(step);
        commands.extend(asked);
    }
    lab.same_as_gdb(&commands)
}

#[test]
fn vectors_have_their_whole_length() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 6",
        "run",
        "print $ymm0.v4_double",
        "print $ymm0.v8_float",
        "print $ymm0.v32_int8",
        "print $ymm0.v2_int128",
        "print sizeof($ymm0)",
        "print $xmm0.v2_double",
    ])?;
    let text = lab.text(&["break 6", "run", "info vector"])?;
    in_order(
        &text,
        &["mxcsr ", "xmm15 ", "ymm0 ", "v4_double = {0.5, ", "ymm15 "],
    );
    let text = lab.text(&["break 6", "run", "info all-registers"])?;
    in_order(
        &text,
        &["rax ", "gs_base ", "fctrl ", "st7 ", "xmm0 ", "ymm15 "],
    );
    Ok(())
}

const WIDE: &str = r#"int main(void) {
    static const double four[4] = {1.5, -2, 3.25, 4};
    __asm__ volatile("vmovupd %0, %%ymm5" : : "m"(four) : "xmm5");
    __asm__ volatile("nop");
    return 0;
}
"#;

/// The upper half of a register is not where the lower one is.
#[test]
fn both_halves_of_a_vector_are_shown() -> Fallible {
    let cpu = std::fs::read_to_string("/proc/cpuinfo")?;
    if !cpu.split_whitespace().any(|flag| flag == "avx") {
        return Ok(());
    }
    let lab = Lab::c(WIDE, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 4",
        "run",
        "print $ymm5.v4_double",
        "print $ymm5.v8_float",
        "print $ymm5.v32_int8",
        "print $ymm5.v4_int64",
        "print/x $ymm5.v2_int128",
        "print $xmm5.v2_double",
    ])
}

const FLOATS: &str = r#"int main(void) {
    volatile long double zero = 0, big = 1e300L * 1e300L, small = 3.6451995318824746025e-4951L;
    volatile double quarter = -0.25;
    __asm__ volatile("fldt %0" : : "m"(zero));
    __asm__ volatile("fldl %0" : : "m"(quarter));
    __asm__ volatile("fldt %0" : : "m"(big));
    __asm__ volatile("fldpi");
    __asm__ volatile("fldt %0" : : "m"(small));
    __asm__ volatile("fld1\n\tfdiv %%st(5), %%st" : :);
    __asm__ volatile("fldz\n\tfdiv %%st(6), %%st" : :);
    __asm__ volatile("nop");
    return 0;
}
"#;

/// Numbers of every kind on the stack: infinite, none, denormal.
#[test]
fn the_state_of_the_x87_is_shown() -> Fallible {
    let lab = Lab::c(FLOATS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 5",
        "break 9",
        "break 11",
        "run",
        "info float",
        "continue",
        "info float",
        "continue",
        "info float",
    ])
}
