//! Arguments of a function at events inside of it.

use crate::bench::Bench;

const SOURCE: &str = "int g;
__attribute__((noipa)) int f(long a, int b, char *t) {
  b = b + 1;
  g = b;
  return b; }
int main(void) { f(1000, 7, \"text\"); return 0; }";

/// They are what they are now.
#[test]
fn arguments_by_position() {
    let bench = Bench::c(SOURCE, &["-O0"]);
    let seen = bench.seen(&[
        "event line prog.c:4(arg 0, arg 1, *arg 2 as text : str)",
        "event write g(ret, arg 0, arg 1, arg 2 : str)",
    ]);
    assert_eq!(
        seen,
        [
            r#"line before prog.c:4 {"*arg 2":"text","arg 0":1000,"arg 1":8}"#,
            r#"write after g {"arg 0":1000,"arg 1":8,"arg 2":"text","ret":8}"#,
        ]
    );
    let (_, found) = lint(&bench, "line prog.c:4(arg 3)");
    assert!(found.contains("`arg 3`: f has 3 arguments"), "{found}");
}

/// Code that nobody describes has no arguments that are known: none are made up.
#[test]
fn arguments_of_undescribed_code() {
    let bench = Bench::new();
    let library = "extern int g; void set(int x) { g = x; }";
    let options = ["-O1", "-shared", "-fPIC", "-s"];
    bench.compile("gcc", "lib.c", library, "libset.so", &options);
    let program = "int g; void set(int); int main(void) { set(5); return 0; }";
    let options = ["-O0", "-rdynamic", "-L.", "-lset", "-Wl,-rpath,$ORIGIN"];
    bench.compile("gcc", "prog.c", program, "prog", &options);
    let (events, said) = bench.events_and_remarks(&["event write g(ret, arg 0)"]);
    let args: Vec<_> = events.iter().map(|e| e["args"].to_string()).collect();
    assert_eq!(args, [r#"{"arg 0":null,"ret":5}"#]);
    assert!(said.contains("no debug information tells"), "{said}");
}

/// What an argument was at the entry is kept where the line's function is known before; where a datum
/// is accessed, the caller's code may tell it.
#[test]
fn values_at_the_entry() {
    for (level, told) in [("-O0", "null"), ("-O2", "7")] {
        let bench = Bench::c(SOURCE, &[level]);
        let event = "event line prog.c:4(b, entry(b) as eb, entry(g) as eg, entry(*t) as et : str)";
        let events = bench.events(&[event]);
        let args: Vec<_> = events.iter().map(|e| e["args"].to_string()).collect();
        let expected = r#"{"b":8,"entry(*t)":"text","entry(b)":7,"entry(g)":0}"#;
        assert_eq!(args, [expected], "{level}");

        let (events, said) = bench.events_and_remarks(&["event write g(b, entry(b) as eb)"]);
        let args: Vec<_> = events.iter().map(|e| e["args"].to_string()).collect();
        let expected = format!(r#"{{"b":8,"entry(b)":{told}}}"#);
        assert_eq!(args, [expected], "{level}");
        assert!(said.contains("`entry(b)` is not kept"), "{said}");
    }
}

/// Each activation has its own.
#[test]
fn values_at_the_entry_of_recursive_calls() {
    let bench = Bench::c(
        "int sum(int n) {\n  int m = n--;\n  if (n > 0) m += sum(n);\n  return m;\n}\n\
         int main(void) { return sum(3) != 6; }",
        &["-O0"],
    );
    let seen = bench.seen(&[
        "event line prog.c:4(n, entry(n) as en)",
        "after event sum(ret)",
    ]);
    let pairs = [(0, 1, 1), (1, 2, 3), (2, 3, 6)];
    let expected = pairs.map(|(now, then, sum)| {
        [
            format!(r#"line before prog.c:4 {{"entry(n)":{then},"n":{now}}}"#),
            format!(r#"call after sum {{"ret":{sum}}}"#),
        ]
    });
    assert_eq!(seen, expected.concat());
}

/// They are kept while no state names the event.
#[test]
fn values_at_the_entry_while_nobody_asks() {
    let bench = Bench::c(
        "__attribute__((noipa)) void on(void) {} __attribute__((noipa)) void off(void) {}\n\
         int f(int n) { off(); n *= 2; on();\n  return n;\n}\n\
         int main(void) { on(); f(5); return 0; }",
        &["-O0"],
    );
    let ran = bench.check_property(
        "state init { transition { event on() success asking } }
         state asking { transition { event line prog.c:3(n, entry(n) as then) { print(n, then) } success asking }
                        transition { event off() success init } }
         state bad non-accepting",
        &[],
    );
    assert_eq!(ran.printed(), ["10 5"], "{}", ran.err);
}

/// The text that a function wrote for its caller.
#[test]
fn texts_that_are_written() {
    let bench = Bench::c(
        "#include <string.h>\n\
         __attribute__((noipa)) void fill(char *to, int n) { memset(to, 'x', n); to[n] = 0; to += 5; }\n\
         int main(void) { char b[9] = \"old\"; fill(b, 3); return 0; }",
        &["-O1"],
    );
    let event = "after event fill(to : str, *to as now : str, entry(*to) as then : str)";
    let events = bench.events(&[event]);
    let args = serde_json::json!({"to": "old", "*to": "xxx", "entry(*to)": "old"});
    assert_eq!(events[0]["args"], args);
}

/// With lines only, nothing is said of what functions take.
#[test]
fn arguments_with_line_tables_only() {
    let bench = Bench::c(
        "__attribute__((noipa)) int f(int a, char *b) { return a; }\n\
         int main(void) { f(-5, \"five\"); return 0; }",
        &["-g1"],
    );
    let seen = bench.seen(&[
        "event f(arg 0 : int, arg 1 : str)",
        "after event f(ret : int)",
    ]);
    assert_eq!(
        seen,
        [
            r#"call before f {"arg 0":-5,"arg 1":"five"}"#,
            r#"call after f {"ret":-5}"#,
        ]
    );
    // One that takes nothing is no such function.
    let bench = Bench::c(
        "void f(void) {} int main(void) { f(); return 0; }",
        &["-O0"],
    );
    let (_, found) = lint(&bench, "f(arg 0)");
    assert!(found.contains("`arg 0`: f has 0 arguments"), "{found}");
}

fn lint(bench: &Bench, event: &str) -> (Option<i32>, String) {
    let text = format!(
        "state init {{ transition {{ event {event} success bad }} }} state bad non-accepting"
    );
    bench.write("l.prop", &text);
    bench.lint("l.prop")
}
