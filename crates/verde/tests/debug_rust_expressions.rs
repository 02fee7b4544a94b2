//! Rust's literals in expressions, and calls of what only Rust has: methods that a trait provides,
//! closures.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"trait Shape {
    fn area(&self) -> u64;
    fn describe(&self) -> u64 { self.area() * 2 }
    fn scaled(&self, by: u64) -> u64 { self.area() * by }
    fn into_area(self) -> u64 where Self: Sized { self.area() }
}
struct Square { side: u64 }
impl Shape for Square { fn area(&self) -> u64 { self.side * self.side } }
struct Circle { r: u64 }
impl Shape for Circle {
    fn area(&self) -> u64 { self.r * 3 }
    fn describe(&self) -> u64 { 7 }
}
struct Unused { n: u64 }
impl Shape for Unused { fn area(&self) -> u64 { self.n } }
impl Shape for u32 { fn area(&self) -> u64 { *self as u64 } }
struct Holder<T> { it: T }
impl<T: Copy + Into<u64>> Shape for Holder<T> { fn area(&self) -> u64 { self.it.into() } }
fn describe<T>(_: &T) -> u64 { 99 }
fn ends(a: &[i32; 3]) -> i32 { a[0] + a[2] }
fn main() {
    let square = Square { side: 3 };
    let circle = Circle { r: 2 };
    let unused = Unused { n: 1 };
    let holder = Holder { it: 5u32 };
    let number = 6u32;
    let seen: &dyn Shape = &square;
    let k = 10u64;
    let adds = |x: u64| x + k;
    let product = |x: i32, y: i32| x * y;
    let mut total = 1u64;
    let mut sums = |x: u64| { total += x; total };
    let text = String::from("used up");
    let taken = move |x: usize| { let size = text.len() + x; drop(text); size };
    let boxed: Box<dyn Fn(u64) -> u64> = Box::new(move |x| x * k);
    let bytes = *b"ab";
    let pair = (1i32, 2u8);
    let mut out = square.describe() + circle.describe() + holder.describe() + number.describe();
    out += square.scaled(2) + seen.describe() + unused.area() + describe(&unused);
    out += adds(1) + product(2, 3) as u64 + sums(0) + boxed(2) + Square { side: 1 }.into_area();
    println!("{out} {bytes:?} {pair:?} {}", ends(&[1, 2, 3]));
    println!("{}", taken(1));
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build("rustc", "prog.rs", SOURCE, "prog", &["--edition", "2021"])?;
    Ok(lab)
}

#[test]
fn literals_are_written_as_in_rust() -> Fallible {
    let lab = lab()?;
    lab.same_as_gdb(&[
        "break prog.rs:41",
        "run",
        "print [1; 3]",
        "print [1, 2, 3]",
        "print [[1, 2], [3, 4]]",
        "print [k; 2]",
        "print [1; k]",
        "print [pair; 2]",
        "print [0u8; 300]",
        "print [1.5; 2]",
        "print ['a'; 2]",
        "whatis [1; 3]",
        "print [1; 3][1]",
        "print sizeof([1; 3])",
        "print b\"ab\"",
        "print b\"a\\x41\\n\\0\"",
        "print br\"a\\n\"",
        "print b'a'",
        "print r\"a\\n\"",
        "print bytes",
        "print ends(&[4, 5, 6])",
    ])?;
    // More than gdb can do.
    let text = lab.text(&[
        "break prog.rs:41",
        "run",
        "print (1, 2u8)",
        "print b\"ab\"[1]",
        "whatis b\"ab\"",
        "print r#\"a\"b\"#",
        "print [1; 0]",
    ])?;
    in_order(
        &text,
        &[
            "= (1, 2)\n",
            "= 98\n",
            "= [u8; 2]\n",
            "= \"a\\\"b\"\n",
            "= []\n",
        ],
    );
    for (literal, refusal) in [
        (
            "[]",
            "An array needs elements here: their type is not known.",
        ),
        ("[1, \"a\"]", "The elements of an array are of one type."),
        ("[1; -1]", "An array of -1 elements cannot be written here."),
        (
            "[0u8; 10000000]",
            "An array of 10000000 elements cannot be written here.",
        ),
        (
            "bytes == [97, 98]",
            "An array that is written down cannot be calculated with or compared.",
        ),
    ] {
        refused(&lab, literal, refusal)?;
    }
    Ok(())
}

fn refused(lab: &Lab, expression: &str, refusal: &str) -> Fallible {
    let print = format!("print {expression}");
    let output = lab.verde(&["break prog.rs:41", "run", &print], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, format!("{refusal}\n"), "{expression}");
    Ok(())
}

/// What each expression is; gdb can call none of these.
fn answers(lab: &Lab, expected: &[(&str, &str)]) -> Fallible {
    let printed: Vec<String> = expected.iter().map(|(e, _)| format!("print {e}")).collect();
    let mut commands = vec!["break prog.rs:41", "run"];
    commands.extend(printed.iter().map(String::as_str));
    let text = lab.text(&commands)?;
    let values = text
        .lines()
        .filter_map(|l| l.strip_prefix('$')?.split_once(" = "));
    let values: Vec<&str> = values.map(|(_, value)| value).collect();
    let wanted: Vec<&str> = expected.iter().map(|(_, value)| *value).collect();
    assert_eq!(values, wanted, "{expected:?}");
    Ok(())
}

#[test]
fn methods_that_a_trait_provides_are_called() -> Fallible {
    let lab = lab()?;
    answers(
        &lab,
        &[
            ("square.describe()", "18"),
            ("square.scaled(5)", "45"),
            ("square.into_area()", "9"),
            ("circle.describe()", "7"),
            ("holder.describe()", "10"),
            ("number.describe()", "12"),
            ("seen.describe()", "18"),
            ("seen.area()", "9"),
        ],
    )?;
    // There is no such code, though a function of another kind has the name.
    let refusal = "Cannot evaluate function prog::Unused::describe -- may be inlined";
    refused(&lab, "unused.describe()", refusal)
}

#[test]
fn closures_are_called() -> Fallible {
    let lab = lab()?;
    answers(
        &lab,
        &[
            ("adds(3)", "13"),
            ("product(4, 5)", "20"),
            ("sums(3)", "4"),
            ("total", "4"),
            ("boxed(4)", "40"),
            ("adds(1) + boxed(1)", "21"),
        ],
    )?;
    refused(&lab, "adds()", "Too few arguments in function call.")?;
    refused(
        &lab,
        "product(1, 2, 3)",
        "Too many arguments in function call.",
    )?;
    let refusal = "The closure may take what it has captured for itself: a call could use it up.";
    refused(&lab, "taken(1)", refusal)
}

const SLICES: &str = r#"fn parse(s: &str) -> i32 { s.trim().parse().unwrap_or(-1) }
fn join(a: &str, b: &str) -> usize { a.len() * 100 + b.len() }
fn echo(s: &str) -> &str { s }
fn sum(s: &[i32]) -> i32 { s.iter().sum() }
fn bytes(s: &[u8]) -> usize { s.iter().map(|b| *b as usize).sum() }
fn double(s: &mut [i32]) -> usize { for x in s.iter_mut() { *x *= 2; } s.len() }
struct Parser { base: i32 }
impl Parser { fn parse(&self, s: &str) -> i32 { self.base + parse(s) } }
fn main() {
    let mut arr = [1, 2, 3, 4];
    let v = vec![10, 20, 30];
    let text = String::from("77");
    let part: &[i32] = &v[1..];
    let parser = Parser { base: 100 };
    let all = parse("12") + parser.parse(&text) + sum(&arr) + sum(part);
    println!("{all} {} {} {} {}", join("a", "bc"), echo("q"), bytes(b"xy"), double(&mut arr));
}
"#;

/// What rustc makes slices and texts of for a call.
#[test]
fn slices_and_texts_are_arguments() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build("rustc", "prog.rs", SLICES, "prog", &["--edition", "2021"])?;
    // gdb takes these as well.
    let both = [
        "break prog.rs:16",
        "run",
        "print parse(\"12\")",
        "print prog::parse(\" 34 \")",
        "print parse(\"\")",
        "print join(\"a\", \"bcd\")",
        "print echo(\"hello\")",
        "print parser.parse(\"5\")",
        "print sum(&arr[1..])",
        "print sum(&arr[1..3])",
        "print sum(&arr[..])",
        "print sum(part)",
    ];
    lab.same_as_gdb(&both)?;
    let more = [
        "break prog.rs:16",
        "run",
        "print sum(&arr)",
        "print sum(&v)",
        "print sum(&v[1..])",
        "print sum(&[4, 5])",
        "print sum(&part[1..])",
        "print bytes(b\"\\x01\\x02\")",
        "print parse(&text)",
        "print parse(&text[1..])",
        "print parse(echo(\"9\"))",
        "print double(&mut arr[2..])",
        "print arr",
    ];
    let text = lab.text(&more)?;
    let values = [10, 60, 50, 9, 30, 3, 77, 7, 9, 2];
    let numbered = values.iter().zip(1..);
    let said: Vec<String> = numbered.map(|(v, n)| format!("\n${n} = {v}\n")).collect();
    let mut said: Vec<&str> = said.iter().map(String::as_str).collect();
    said.push("$11 = [1, 2, 6, 8]\n");
    for line in said {
        assert!(text.contains(line), "{line}: {text}");
    }
    // rustc would not.
    for (call, from, to) in [
        ("bytes(\"ab\")", "char [3]", "&[u8]"),
        ("bytes(&arr)", "[i32; 4] (*)", "&[u8]"),
        ("sum(arr)", "[i32; 4]", "&[i32]"),
        ("parse(b\"1\")", "[u8; 1]", "&str"),
    ] {
        let print = format!("print {call}");
        let output = lab.verde(&["break prog.rs:16", "run", &print], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let no = format!("An argument of type {from} cannot be passed as {to}.");
        assert!(errors.contains(&no), "{call}: {errors}");
    }
    Ok(())
}
