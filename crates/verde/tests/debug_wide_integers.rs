//! Arithmetic with 128 bits. gdb has none: the program says what is right.

mod lab;

use lab::{Fallible, Lab};

const SOURCE: &str = r#"typedef unsigned __int128 wide;
wide u = -1, v = ((wide)1 << 127) + 12345;
__int128 s = -5;
wide half, rest, moved, product, mixed, quotient;
__int128 less;
double big;
int main(void) {
    half = u / 2; rest = v % 10; moved = u >> 1; product = v * 3; mixed = u / s; quotient = u / v;
    less = s >> 1;
    big = (double)u;
    return 0;
}
"#;

#[test]
fn without_sign() -> Fallible {
    let lab = Lab::c(SOURCE, &["-O0"])?;
    let truths = [
        "u / 2 == half",
        "v % 10 == rest",
        "u >> 1 == moved",
        "v * 3 == product",
        "u / s == mixed",
        "u / v == quotient",
        "s >> 1 == less",
        "(double)u == big",
        "u > 1",
        "v < u",
        "!(u < s)",
        "s < 0",
    ];
    let mut commands = vec!["break 11".to_owned(), "run".to_owned()];
    commands.extend(truths.iter().map(|t| format!("print {t}")));
    commands.push("print u / 2".to_owned());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = lab.text(&commands)?;
    for (n, truth) in truths.iter().enumerate() {
        let line = format!("${} = 1", n + 1);
        assert!(text.lines().any(|l| l == line), "{truth}: {text}");
    }
    assert!(
        text.contains("$13 = 170141183460469231731687303715884105727"),
        "{text}"
    );
    Ok(())
}

#[test]
fn of_rust() -> Fallible {
    let source = "fn main() { let u = u128::MAX; let s = -7i128;\n println!(\"{u}{s}\"); }\n";
    let lab = Lab::made("rustc", "prog.rs", source, &[])?;
    let commands = [
        "break 2",
        "run",
        "print u / 2",
        "print u > 1",
        "print u % 10",
        "print u >> 127",
        "print s / 2",
    ];
    let wanted = [
        "$1 = 170141183460469231731687303715884105727",
        "$2 = true",
        "$3 = 5",
        "$4 = 1",
        "$5 = -3",
    ];
    lab::in_order(&lab.text(&commands)?, &wanted);
    Ok(())
}
