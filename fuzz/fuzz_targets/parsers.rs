//! Any bytes as a property, a scenario and a Python block: findings or a
//! model, never a panic, and every place lies within the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verde_property::{Functions, load_property, load_scenario, render, scan};

fuzz_target!(|bytes: &[u8]| {
    let functions = Functions::default();
    let property = load_property("p.prop", bytes, &functions);
    assert_eq!(property.model.is_none(), property.errors() > 0);
    for d in &property.found {
        assert!(d.span.start <= d.span.end && d.span.start <= property.source.text.len());
        assert!(!d.hint.is_empty());
    }
    let _ = render(&property.source, &property.found, false);
    let scenario = load_scenario("s.sc", bytes, &functions);
    assert_eq!(scenario.model.is_none(), scenario.errors() > 0);
    let _ = render(&scenario.source, &scenario.found, false);
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(s) = scan::block_end(text, 0)
    {
        assert_eq!(text.as_bytes()[s.end], b'}');
        assert!(s.logical.iter().all(|i| *i <= s.end));
    }
});
