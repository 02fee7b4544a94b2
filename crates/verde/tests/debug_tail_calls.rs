//! Frames of functions that ended with a jump to another one.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

const C: &str = r#"volatile int sink, rounds;
#define FAR __attribute__((noipa))
extern void end_here(void) __asm__("abort");
FAR void pause_here(void) { sink++; }
FAR int work(int n) {
    sink += n;
    pause_here();
    sink -= 1;
    return sink;
}
FAR int once(int n) { sink ^= 1; return work(n * 10); }
FAR int further(int n) { sink ^= 2; return once(n + 1); }
FAR int either(int n) { sink ^= 3; if (n & 1) return work(n + 100); return once(n + 200); }
FAR int left(int n) { sink ^= 3; return work(n + 2); }
FAR int right(int n) { sink ^= 3; return work(n + 3); }
FAR int fork_road(int n) { sink ^= 3; if (n & 1) return left(n + 100); return right(n + 200); }
FAR int before_fork(int n) { sink ^= 3; return fork_road(n); }
FAR int narrow(int n) { sink ^= 3; return work(n + 5); }
FAR int to_narrow(int n) { sink ^= 3; return narrow(n + 6); }
FAR int also_narrow(int n) { sink ^= 4; return narrow(n + 7); }
FAR int two_roads(int n) { sink ^= 3; if (n & 1) return to_narrow(n); return also_narrow(n); }
static inline int inlined(int n) { sink ^= 9; return work(n + 7); }
FAR int around(int n) { sink ^= 8; return inlined(n); }
FAR int itself(int n) { sink ^= 5; if (n > 3) return work(n); return itself(n + 1); }
FAR int back(int n);
FAR int forth(int n) {
    sink += n;
    pause_here();
    sink -= 1;
    if (rounds++ & 1) return sink;
    return back(sink);
}
FAR int back(int n) { sink ^= 4; return forth(n * 2); }
int (*volatile by)(int);
FAR int unknown(int n) { sink ^= 6; return by(n + 1); }
FAR void last(int n) { sink ^= n; end_here(); }
FAR void last_but_one(int n) { sink ^= n; last(n + 1); }
int main(void) {
    sink += work(1);
    sink += once(2);
    sink += further(3);
    sink += either(4);
    sink += before_fork(5);
    sink += two_roads(6);
    sink += around(8);
    sink += itself(1);
    sink += forth(7);
    by = once;
    sink += by(8);
    sink += unknown(9);
    last_but_one(3);
    return 0;
}
"#;

const CPP: &str = r#"volatile int sink;
#define FAR __attribute__((noipa))
namespace shop {
struct Till {
    int coins;
    FAR int count(int n);
    FAR int open(int n);
    FAR static int look(Till *till, long n);
};
FAR int Till::count(int n) { sink += n + coins; return sink; }
FAR int Till::open(int n) { sink ^= 1; return count(n + 1); }
FAR int Till::look(Till *till, long n) { sink ^= 2; return till->open((int)n * 2); }
template <class T> FAR int sell(T *till, int n) { sink ^= 3; return T::look(till, n); }
}
int main() {
    shop::Till till = { 3 };
    sink += till.open(1);
    sink += shop::sell(&till, 2);
    return 0;
}
"#;

/// Commands that stop at a place so many times and do something each time.
fn at_each_stop<'a>(stop: &'a str, times: usize, looks: &[&'a str]) -> Vec<&'a str> {
    let mut commands = vec!["set print entry-values no", stop, "run"];
    for _ in 1..times {
        commands.extend(looks);
        commands.push("continue");
    }
    commands.extend(looks);
    commands
}

/// Where all ways from the call to the function have a jump in common it is shown, else none is.
#[test]
fn functions_that_ended_with_a_jump_are_in_the_backtrace() -> Fallible {
    let lab = Lab::c(C, &["-O2"])?;
    let commands = at_each_stop("break pause_here", 12, &["bt"]);
    let text = lab.text(&commands)?;
    let calls = |text: &str| -> Vec<String> {
        let frames = text.lines().filter_map(|l| l.split_once(" in "));
        let names = frames.filter_map(|(_, f)| f.split_once(" at "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    let all = calls(&text).join(", ");
    for chain in [
        "work (n=40), once (n=4), further (n=3), main ()",
        "work (n=<optimized out>), main ()",
        "work (n=<optimized out>), before_fork (n=5), main ()",
        "work (n=<optimized out>), narrow (n=<optimized out>), main ()",
        "work (n=15), inlined (n=<optimized out>), main ()",
    ] {
        assert!(all.contains(chain), "{chain} in {text}");
    }
    lab.same_as_gdb(&commands)
}

#[test]
fn frames_of_jumps_are_selected_like_others() -> Fallible {
    let lab = Lab::c(C, &["-O2"])?;
    let looks = [
        "tbreak further",
        "run",
        "tbreak work",
        "continue",
        "up",
        "info args",
        "info locals",
        "print n + 1",
        "up",
        "print n",
        "print $pc",
        "print $sp",
        "up",
        "down 2",
        "frame 2",
        "list",
    ];
    let mut commands = vec!["set print entry-values no"];
    commands.extend(looks);
    lab.same_as_gdb(&commands)?;
    commands.extend(["frame function once", "info frame"]);
    in_order(
        &lab.text(&commands)?,
        &["Stack level 1", "tail call frame", "n=4"],
    );
    Ok(())
}

/// They are over already: what returns is the function inside, to who called the outermost.
#[test]
fn leaving_goes_past_frames_of_jumps() -> Fallible {
    let lab = Lab::c(C, &["-O2"])?;
    let start = [
        "set print entry-values no",
        "tbreak further",
        "run",
        "tbreak work",
        "continue",
    ];
    for select in ["frame 0", "frame 1", "frame 2"] {
        let mut commands = start.to_vec();
        commands.extend([select, "finish", "bt"]);
        let ours = lab.text(&commands)?;
        in_order(&ours, &["Value returned is $1 = "]);
        let result = |l: &String| l.starts_with("Value returned");
        let told = |text: &str| -> Vec<String> {
            let lines = essentials(text).into_iter();
            lines.filter(|l| !result(l)).collect()
        };
        if let Some(theirs) = lab.gdb(&commands)? {
            assert_eq!(told(&ours), told(&theirs));
        }
        let mut commands = start.to_vec();
        commands.extend([select, "return 5", "next", "print $pc"]);
        let text = lab.text(&commands)?;
        in_order(&text, &["#0 ", " in main () at prog.c:"]);
    }
    Ok(())
}

/// A function of a library may be where the jumps lead to, with debug information or without.
#[test]
fn jumps_into_libraries_are_seen() -> Fallible {
    let lab = Lab::c(C, &["-O2"])?;
    let commands = ["set print entry-values no", "run", "bt -3"];
    let text = lab.text(&commands)?;
    in_order(
        &text,
        &[
            " in last (n=4) at",
            " in last_but_one (n=3) at",
            " in main () at",
        ],
    );
    // Numbers and frames of the library depend on what is known of it.
    let ends = |text: &str| -> Vec<String> {
        let frames = text.lines().filter_map(|l| l.split_once(" in "));
        frames.map(|(_, frame)| frame.to_owned()).collect()
    };
    if let Some(theirs) = lab.gdb(&commands)? {
        let theirs = ends(&theirs);
        assert!(ends(&text).ends_with(&theirs), "{theirs:?} in {text}");
    }
    let source = "int notes;\nvoid far_away(int n) { notes += n; __builtin_trap(); }\n";
    let library = ["-shared", "-fPIC", "-O2", "-s"];
    lab.build("gcc", "far.c", source, "libfar.so", &library)?;
    let program = r#"void far_away(int n);
volatile int sink;
__attribute__((noipa)) void nearer(int n) { sink = n; far_away(n + 1); }
int main(void) { nearer(1); sink++; return 0; }
"#;
    let options = ["-O2", "-L.", "-lfar", "-Wl,-rpath,$ORIGIN"];
    lab.build("gcc", "prog.c", program, "prog", &options)?;
    let commands = ["set print entry-values no", "run", "bt"];
    in_order(
        &lab.text(&commands)?,
        &["#0 ", "#1 ", " in nearer (n=1)", "#2 ", " in main ()"],
    );
    // What it began with is known here, too.
    let names = |text: &str| -> Vec<String> {
        let frames = ends(text).into_iter();
        let names = frames.map(|f| f.split(" (").next().unwrap_or_default().to_owned());
        names.collect()
    };
    if let Some(theirs) = lab.gdb(&commands)? {
        assert_eq!(names(&lab.text(&commands)?), names(&theirs));
    }
    Ok(())
}

#[test]
fn methods_and_templates_jump_too() -> Fallible {
    let lab = Lab::made("g++", "prog.cpp", CPP, &["-O2"])?;
    lab.same_as_gdb(&at_each_stop("break shop::Till::count", 2, &["bt"]))
}
