//! What people read when a file is wrong, kept word for word.

use verde_property::{Functions, load_property, load_scenario, render};

#[test]
fn every_wrong_file_points_at_its_culprit() {
    insta::glob!("../../../tests/diagnostics", "*.*", |path| {
        let name = path.file_name().unwrap().to_string_lossy();
        let bytes = std::fs::read(path).unwrap();
        let functions = Functions::default();
        let (source, found) = if name.ends_with(".sc") {
            let l = load_scenario(&name, &bytes, &functions);
            (l.source, l.found)
        } else {
            let l = load_property(&name, &bytes, &functions);
            (l.source, l.found)
        };
        assert!(!found.is_empty(), "{name} has a mistake that nobody finds");
        for d in &found {
            assert!(
                !d.hint.is_empty(),
                "{name}: `{}` says nothing to do",
                d.message
            );
            assert!(d.span.start <= source.text.len());
        }
        insta::assert_snapshot!(render(&source, &found, false));
    });
}

/// Input that is no property at all gets an error at once, whatever it is.
#[test]
fn anything_else_is_refused_in_bounded_time() {
    let nested = format!(
        "state init {{ transition {{ event f() {{ {} }} success init }} }}",
        "(".repeat(100_000)
    );
    let nots = format!(
        "state init {{ transition {{ event f() {{ return {}1 }} success init }} }}",
        "not ".repeat(15_000)
    );
    let minus = format!(
        "state init {{ transition {{ event f() {{ return {}1 }} success init }} }}",
        "-".repeat(60_000)
    );
    let lambdas = format!(
        "state init {{ transition {{ event f() {{ x = {}1 }} success init }} }}",
        "lambda:".repeat(9_000)
    );
    let ifs = format!(
        "state init {{ transition {{ event f() {{ return {}1 }} success init }} }}",
        "1 if 1 else ".repeat(5_000)
    );
    let long = format!(
        "state init {{ transition {{ event f() {{ x = '{}' }} success init }} }}",
        "a".repeat(100_000)
    );
    let states: String = (0..20_000).map(|i| format!("state s{i}\n")).collect();
    let garbage: String = (0..100_000u32)
        .map(|i| char::from((i * 7919 % 94 + 33) as u8))
        .collect();
    let cases: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\x7fELF\x02\x01\x01\0\0\0\0".to_vec(),
        vec![0xff; 4096],
        vec![0; 4096],
        nested.into(),
        long.into(),
        states.into(),
        garbage.into(),
        vec![b'{'; 1 << 20],
        vec![b' '; 17 << 20],
    ];
    for c in cases {
        let l = load_property("x.prop", &c, &Functions::default());
        assert!(l.model.is_none() && l.errors() > 0 && l.found.len() <= 50);
        let _ = render(&l.source, &l.found, true);
    }
    // Deep but legal Python is simply not in the typed subset.
    for c in [nots, minus, lambdas, ifs] {
        let l = load_property("x.prop", c.as_bytes(), &Functions::default());
        assert!(l.model.is_some_and(|p| p.needs_python().is_some()));
    }
}

/// Every prefix of a good file, as a cut download would leave it.
#[test]
fn every_prefix_is_handled() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/listings/queue_long.prop"
    );
    let text = std::fs::read(path).unwrap();
    for n in 0..text.len() {
        let l = load_property("cut.prop", &text[..n], &Functions::default());
        let _ = render(&l.source, &l.found, false);
    }
}
