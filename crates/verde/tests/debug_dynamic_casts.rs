//! `dynamic_cast`: what an object is, not what the program takes it for.

mod lab;

use lab::{Fallible, Lab};

const SOURCE: &str = r#"
struct A { int a = 1; virtual ~A() {} };
struct B { int b = 2; virtual ~B() {} };
struct S : A { double r = 2.5; };
struct Both : A, B { int c = 3; };
struct V : virtual A { int v = 4; };
struct Other { virtual ~Other() {} };
struct Plain { int x = 0; };
int main() {
    A plain; S sav; Both both; V v; Other other; Plain bare;
    A *p = &plain, *q = &sav, *r = &both, *u = &v, *none = nullptr;
    B *b = &both;
    A &reference = sav;
    return p && q && r && u && b && !none && &other && reference.a && bare.x;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::made("g++", "prog.cpp", SOURCE, &["-O0"])
}

#[test]
fn an_object_that_is_not_of_the_class_gives_null() -> Fallible {
    let cases = [
        ("dynamic_cast<S*>(p)", "(S *) 0x0"),
        ("dynamic_cast<S*>(p) == 0", "true"),
        ("dynamic_cast<S*>(q) == &sav", "true"),
        ("dynamic_cast<S*>(q)->r", "2.5"),
        ("dynamic_cast<Other*>(q)", "(Other *) 0x0"),
        ("dynamic_cast<S*>(none)", "(S *) 0x0"),
        ("dynamic_cast<Both*>(b) == &both", "true"),
        ("dynamic_cast<S*>(b)", "(S *) 0x0"),
        // From one base to another.
        ("dynamic_cast<A*>(b) == r", "true"),
        ("dynamic_cast<B*>(r) == b", "true"),
        ("dynamic_cast<V*>(u) == &v", "true"),
        ("(long) dynamic_cast<void*>(b) == (long) &both", "true"),
        ("dynamic_cast<A*>(&sav)->a", "1"),
        ("dynamic_cast<S&>(reference).r", "2.5"),
        ("dynamic_cast<S&>(*q).r", "2.5"),
    ];
    let prints: Vec<String> = cases.iter().map(|(e, _)| format!("print {e}")).collect();
    let mut commands = vec!["break 14", "run"];
    commands.extend(prints.iter().map(String::as_str));
    let text = lab()?.text(&commands)?;
    for (number, (expression, value)) in (1..).zip(cases) {
        let line = format!("${number} = {value}\n");
        assert!(text.contains(&line), "{expression} is not {value}:\n{text}");
    }
    Ok(())
}

#[test]
fn a_reference_that_does_not_fit_fails() -> Fallible {
    let lab = lab()?;
    for (expression, why) in [
        ("dynamic_cast<S&>(*p)", "dynamic_cast failed"),
        ("dynamic_cast<S>(*p)", "must be a pointer or reference type"),
        (
            "dynamic_cast<S*>(p->a)",
            "does not have pointer to class type",
        ),
        (
            "dynamic_cast<S*>(&bare)",
            "does not have a polymorphic type",
        ),
    ] {
        let print = format!("print {expression}");
        let output = lab.verde(&["break 14", "run", &print], &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(why), "{expression}: {errors}");
    }
    Ok(())
}
