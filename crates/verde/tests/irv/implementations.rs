//! Rust: methods of implementations that are written outside of their type's module.

use crate::bench::{Bench, in_order};

const PROGRAM: &str = r#"
mod a {
    pub struct S(pub u32);
    pub struct G<X>(pub X);
}
pub trait T {
    fn m(&self, k: u32) -> u32;
}
pub trait U {
    fn m(&self, k: u32) -> u32;
}
mod b {
    use std::hint::black_box;
    impl super::T for super::a::S {
        #[inline(never)]
        fn m(&self, k: u32) -> u32 { black_box(self.0 + k) }
    }
    impl<X: Copy + Into<u32>> super::T for super::a::G<X> {
        #[inline(never)]
        fn m(&self, k: u32) -> u32 { black_box(self.0.into() * k) }
    }
    pub mod c {
        impl super::super::U for super::super::a::S {
            #[inline(never)]
            fn m(&self, k: u32) -> u32 { super::black_box(self.0 - k) }
        }
        impl super::super::a::S {
            #[inline(never)]
            pub fn inherent(&self, k: u32) -> u32 { super::black_box(self.0 / k) }
        }
    }
}
fn main() {
    let s = a::S(std::hint::black_box(30));
    let g = a::G(std::hint::black_box(4u8));
    std::process::exit((T::m(&s, 1) + T::m(&g, 2) + U::m(&s, 3) + s.inherent(4) == 0) as i32);
}
"#;

#[test]
fn methods_of_implementations_that_are_written_elsewhere() {
    for options in [
        ["-C", "opt-level=0"].as_slice(),
        &["-C", "opt-level=2"],
        &["-C", "symbol-mangling-version=v0"],
    ] {
        let bench = Bench::new();
        bench.rust_with(PROGRAM, options);
        for (name, calls) in [
            ("a::S::m", [1, 3].as_slice()),
            ("crate::a::S::m", &[1, 3]),
            ("crate::a::G::m", &[2]),
            ("crate::T::m", &[1, 2]),
            ("crate::U::m", &[3]),
            ("crate::a::S::inherent", &[4]),
        ] {
            let events = bench.events(&[&format!("event {name}(k)")]);
            let seen: Vec<i64> = events
                .iter()
                .filter_map(|e| e["args"]["k"].as_i64())
                .collect();
            assert_eq!(seen, calls, "{name} {options:?}");
        }
        let commands = ["break crate::U::m", "run", "print k"];
        in_order(&bench.debug(&[], &commands), &["Breakpoint 1", "$1 = 3"]);
    }
}
