//! Types where values are wanted, and what has a type's name.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"namespace geo {
class Circle {
    double r = 1;
public:
    operator bool() const { return r > 0; }
    operator int() { return 1; }
    explicit operator double *() { return &r; }
    bool operator!() const { return false; }
    void operator delete(void *p) { ::operator delete(p); }
};
}
typedef int number;
enum Way { one };
int main() {
    geo::Circle c;
    long l = 0x1122334455667788;
    void *at = &l;
    Way w = one;
    number n = 1;
    return !(bool)c + (int)c - 1 + (at == 0) + w + n - 1 + (*(double *)c == 2) + !c;
}
"#;

#[test]
fn conversions_return_what_they_are_called() -> Fallible {
    let lab = Lab::made("g++", "prog.cpp", SOURCE, &[])?;
    lab.same_as_gdb(&["break 20", "run", "ptype c"])
}

/// An integer leads to an `int`: so many bytes are watched.
#[test]
fn what_an_integer_leads_to() -> Fallible {
    let lab = Lab::made("g++", "prog.cpp", SOURCE, &[])?;
    lab.same_as_gdb(&[
        "break 20",
        "run",
        "print *0x555555554000",
        "whatis *0x555555554000",
        "print *(long)&l",
        "whatis *l",
    ])
}

#[test]
fn a_type_is_no_expression() -> Fallible {
    let lab = Lab::made("g++", "prog.cpp", SOURCE, &[])?;
    let refusal = "Attempt to use a type name as an expression";
    for name in [
        "int",
        "geo::Circle",
        "number",
        "Way",
        "unsigned long",
        "enum Way",
    ] {
        let output = lab.verde(&["break 20", "run", &format!("print {name}")], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(refusal), "{name}: {errors}");
    }
    let output = lab.verde(&["break 20", "run", "print *at"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let generic = "Attempt to dereference a generic pointer.";
    assert!(errors.contains(generic), "{errors}");
    Ok(())
}

const VARIANTS: &str = r#"mod inner {
    #[derive(Debug)]
    pub enum Kind { One(u8), Two, Three }
}
#[derive(Debug)]
enum Shape { Circle { r: f64 }, Rect(f64, f64), Empty }
fn main() {
    let all = [Shape::Circle { r: 1.0 }, Shape::Rect(1.0, 2.0), Shape::Empty];
    let kinds = [inner::Kind::One(1), inner::Kind::Two, inner::Kind::Three];
    println!("{all:?} {kinds:?}");
}
"#;

#[test]
fn variants_without_fields_are_values() -> Fallible {
    let lab = Lab::made("rustc", "prog.rs", VARIANTS, &["-Adead_code"])?;
    let commands = [
        "break 10",
        "run",
        "print prog::Shape::Empty",
        "print prog::inner::Kind::Two",
        "print prog::inner::Kind::Three",
    ];
    lab.same_as_gdb(&commands)?;
    let text = lab.text(&commands)?;
    in_order(&text, &["Shape::Empty", "Kind::Two", "Kind::Three"]);
    let output = lab.verde(&["break 10", "run", "print prog::Shape::Rect"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("Attempt to use a type name"), "{errors}");
    Ok(())
}
