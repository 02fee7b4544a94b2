//! Results of Rust functions, after `finish` and of functions that `print` calls: in registers,
//! and in memory whose address optimised code does not return.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"
#[derive(Debug, Clone, Copy)]
pub struct Bytes(u8, u8, u8);
#[derive(Debug, Clone, Copy)]
pub struct Floats { a: f32, b: f32, c: f32 }
#[derive(Debug, Clone, Copy)]
pub struct Mixed { a: u64, b: u32, c: u16 }
#[derive(Debug, Clone, Copy)]
pub struct Words { a: u64, b: u64, c: u64 }
#[inline(never)] fn bytes(n: u64) -> Bytes { Bytes(n as u8, n as u8 * 2, n as u8 + 2) }
#[inline(never)] fn floats(n: u64) -> Floats { let n = n as f32; Floats { a: n + 0.5, b: n + 1.5, c: n + 2.5 } }
#[inline(never)] fn mixed(n: u64) -> Mixed { Mixed { a: n, b: n as u32 + 1, c: n as u16 + 2 } }
#[inline(never)] fn words(n: u64) -> Words { Words { a: n, b: n + 1, c: n + 2 } }
#[inline(never)] fn array(n: u64) -> [u64; 2] { [n + 6, n * 8] }
#[inline(never)] fn tuple(n: u64) -> (i32, f64, char) { (n as i32, n as f64 + 1.5, 'z') }
#[inline(never)] fn pair(n: u64) -> (f64, u32) { (n as f64 + 3.5, n as u32 + 5) }
#[inline(never)] fn wide(n: u64) -> i128 { i128::from(n) - 6 }
#[inline(never)] fn sum(a: [u64; 2], b: Mixed) -> u64 { a[0] + a[1] + b.a + u64::from(b.b) }
fn main() {
    use std::hint::black_box as keep;
    let n = std::env::args().count() as u64;
    println!("{:?} {:?} {:?} {:?}", keep(bytes(n)), keep(floats(n)), keep(mixed(n)), keep(words(n)));
    println!("{:?} {:?} {:?} {:?}", keep(array(n)), keep(tuple(n)), keep(pair(n)), keep(wide(n)));
    let (a, b) = (keep([10, 20]), keep(mixed(n)));
    println!("{:?}", keep(sum(a, b)));
    let read = [words(n).b, u64::from(words(n).c as u8), u64::from(mixed(n).c), words(n).a];
    let bytes = bytes(n);
    let floats = floats(n);
    println!("{read:?} {} {} {}", bytes.0 + bytes.1 + bytes.2, floats.a + floats.b, floats.c);
}
"#;

const FUNCTIONS: [(&str, &str); 8] = [
    ("bytes", "prog::Bytes (1, 2, 3)"),
    ("floats", "prog::Floats {a: 1.5, b: 2.5, c: 3.5}"),
    ("mixed", "prog::Mixed {a: 1, b: 2, c: 3}"),
    ("words", "prog::Words {a: 1, b: 2, c: 3}"),
    ("array", "[7, 8]"),
    ("tuple", "(1, 2.5, 122 'z')"),
    ("pair", "(4.5, 6)"),
    ("wide", "-5"),
];

/// `arguments`: of a function at its very entry; optimised code has its own convention.
fn check(options: &[&str], arguments: bool) -> Fallible {
    let lab = Lab::made("rustc", "prog.rs", SOURCE, options)?;
    let mut commands = vec!["tbreak prog::main".to_owned()];
    commands.extend(FUNCTIONS.map(|(name, _)| format!("tbreak prog::{name}")));
    commands.push("run".to_owned());
    for _ in FUNCTIONS {
        commands.extend(["continue".to_owned(), "finish".to_owned()]);
    }
    // Called, they write where they are told to.
    commands.extend(FUNCTIONS.map(|(name, _)| format!("print prog::{name}(1)")));
    if arguments {
        commands.extend(["break *prog::sum", "continue", "print a", "print b"].map(String::from));
    }
    commands.push("continue".to_owned());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = lab.text(&commands)?;
    let returned = FUNCTIONS.map(|(_, value)| format!(" = {value}\n"));
    let mut wanted: Vec<&str> = returned.iter().map(String::as_str).collect();
    wanted.extend(returned.iter().map(String::as_str));
    if arguments {
        wanted.extend([" = [10, 20]\n", " = prog::Mixed {a: 1, b: 2, c: 3}\n"]);
    }
    wanted.extend(["33\n", "exited normally]"]);
    in_order(&text, &wanted);
    Ok(())
}

#[test]
fn results_of_rust_are_right_in_debug_builds() -> Fallible {
    check(&[], true)
}

#[test]
fn results_of_rust_are_right_in_release_builds() -> Fallible {
    check(&["-O"], false)
}

/// Arguments that are pushed after the result's address was made from the stack pointer.
#[test]
fn results_of_rust_are_right_behind_pushed_arguments() -> Fallible {
    let source = "pub struct Words { a: u64, b: u64, c: u64 }
        #[inline(never)]
        fn many(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64) -> Words {
            Words { a: a + b + c, b: d + e + f, c: g }
        }
        fn main() {
            let n = std::env::args().count() as u64;
            let w = many(n, n * 2, n * 3, n + 3, n * 5, n + 5, n * 7);
            println!(\"{}\", w.a + w.b + w.c);
        }\n";
    let lab = Lab::c("int main(void) { return 0; }", &[])?;
    for level in ["1", "2"] {
        let level = format!("-Copt-level={level}");
        lab.build("rustc", "prog.rs", source, "prog", &[&level])?;
        let text = lab.text(&["break prog::many", "run", "finish"])?;
        let wanted = "Value returned is $1 = prog::Words {a: 6, b: 15, c: 7}\n";
        assert!(text.ends_with(wanted), "{level}: {text}");
    }
    Ok(())
}
