//! `unwound f`: told when a frame is left by longjmp or an exception, and at nothing else.

use crate::bench::Bench;

/// A function that is active when the process ends has not been left.
#[test]
fn the_end_of_the_process_unwinds_nothing() {
    let bench = Bench::c(
        "#include <stdlib.h>\n#include <unistd.h>\n#include <signal.h>\n#include <pthread.h>\n\
         __attribute__((noinline)) int f(int how) { switch (how) {\n\
           case '0': exit(0); case '1': _exit(0); case '2': abort();\n\
           case '3': *(volatile int *)0 = 1; case '4': raise(SIGKILL); } return how; }\n\
         static void *run(void *how) { f(*(char *)how); return how; }\n\
         int main(int c, char **v) { if (!v[1][1]) return f(v[1][0]);\n\
           pthread_t t; pthread_create(&t, 0, run, v[1]); pthread_join(t, 0); return 0; }",
        &["-O0", "-w", "-pthread"],
    );
    let property = "state init {
        transition { event unwound f(how) success bad }
        transition { event unwound main() success bad }
        transition { event unwound run() success bad } }
        state bad non-accepting";
    // In the first thread, and in another one.
    for suffix in ["", "t"] {
        for (how, code) in [("0", 0), ("1", 0), ("2", 134), ("3", 139), ("4", 137)] {
            let ran = bench.check_property(property, &[&format!("{how}{suffix}")]);
            assert_eq!(ran.code, code, "{how}{suffix}: {}", ran.err);
            assert_eq!(ran.last()["properties"][0]["verdict"], "true", "{how}");
        }
    }
}

/// A thread that ends by `pthread_exit` unwinds its stack.
#[test]
fn the_end_of_a_thread_leaves_its_functions() {
    let bench = Bench::c(
        "#include <pthread.h>\n\
         __attribute__((noinline)) void leave(int x) { pthread_exit(0); }\n\
         static void *run(void *p) { leave(3); return p; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); return 0; }",
        &["-O0", "-pthread"],
    );
    let seen = bench.seen(&["event unwound leave(x)", "event unwound run()"]);
    let both = [
        r#"unwound before leave {"x":3}"#,
        r#"unwound before run {}"#,
    ];
    assert_eq!(seen, both);
}

/// What is left by a panic is told before what comes after the catch.
#[test]
fn panics_are_told_where_they_land() {
    let bench = Bench::new();
    for level in ["0", "2"] {
        bench.rust_with(
            "static mut G: i32 = 0; struct Guard(i32);\n\
             impl Drop for Guard { fn drop(&mut self) { set(self.0); } }\n\
             #[inline(never)] fn set(k: i32) { unsafe { (&raw mut G).write_volatile(k); } }\n\
             #[inline(never)] fn inner(k: i32) { if k > 1 { panic!() } set(k); }\n\
             #[inline(never)] fn outer(k: i32) { let _g = Guard(10 * k); inner(k); }\n\
             fn main() { std::panic::set_hook(Box::new(|_| {}));\n\
               for i in 1..3 { let _ = std::panic::catch_unwind(|| outer(i)); set(100 * i); }\n\
               let t = std::thread::spawn(|| { outer(3); }); let _ = t.join(); set(5); }",
            &["-C", &format!("opt-level={level}")],
        );
        let seen = bench.seen(&[
            "event unwound prog::inner(k)",
            "event unwound prog::outer(k)",
            "event write prog::G(ret)",
        ]);
        assert_eq!(
            seen,
            [
                r#"write after prog::G {"ret":1}"#,
                r#"write after prog::G {"ret":10}"#,
                r#"write after prog::G {"ret":100}"#,
                r#"unwound before prog::inner {"k":2}"#,
                r#"write after prog::G {"ret":20}"#,
                r#"unwound before prog::outer {"k":2}"#,
                r#"write after prog::G {"ret":200}"#,
                r#"unwound before prog::inner {"k":3}"#,
                r#"write after prog::G {"ret":30}"#,
                r#"unwound before prog::outer {"k":3}"#,
                r#"write after prog::G {"ret":5}"#,
            ],
            "{level}"
        );
    }
}
