//! `ptype/o`: where members are, and what is between them.

mod lab;

use lab::{Fallible, Lab};

const C: &str = r"struct in { char c; short s; };
union u { int i; double d; struct in n; };
struct all {
    char c; int i;
    unsigned f1 : 3; unsigned f2 : 7; unsigned f3 : 20;
    double d; struct in in; char arr[5]; union u u; int *p;
    struct { int a; char b; };
    struct { long q; } named;
    struct in ins[2];
    unsigned char last : 2;
};
struct tight { long a; int b; char c; };
struct flex { int n; char data[]; };
struct bits { unsigned a : 4; unsigned : 0; unsigned b : 5; int tail; };
struct empty {};
typedef struct { int x; } anon;
struct holds { struct tight t; anon a; enum { A, B } e; int (*fn)(int); };
struct all a; struct tight t; struct flex f; struct bits b; struct holds h; struct empty e;
anon an; struct far *away;
int main(void) { return sizeof a + sizeof t + sizeof f + sizeof b + sizeof h == 0; }
";

#[test]
fn layouts_of_c() -> Fallible {
    let lab = Lab::c(C, &["-O0"])?;
    lab.same_as_gdb(&[
        "ptype/o struct all",
        "ptype/o struct tight",
        "ptype /o struct flex",
        "ptype/o struct bits",
        "ptype/o struct holds",
        "ptype/o struct empty",
        "ptype/o anon",
        "ptype/o union u",
        "ptype/o struct tight *",
        "ptype/o &t",
        "ptype/o a.in",
        "ptype/o h",
        "ptype/o int",
        "ptype/o f.n",
    ])
}

const CPP: &str = r"struct Base { virtual ~Base() {} int b; };
class Der : public Base {
public:
    long d; char tail; static int count;
    int f() const { return 1; }
    Der(Base &q) : r(q) {}
protected:
    short s;
private:
    Base in; const Base *p; Base &r; int x : 3;
};
int Der::count;
struct V : virtual Base { int v; };
class Priv { int a; char b; };
class Mixed { int a; public: int b; int f() { return a; } };
struct Parts { int a; private: int b; public: int c; };
int main() {
    Base b; Der d(b); V v; Priv q; Mixed m; Parts p;
    return sizeof d + sizeof v + sizeof q + sizeof m + sizeof p == 0;
}
";

#[test]
fn layouts_of_classes() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", CPP, &["-O0"])?;
    let types = ["Base", "Der", "V", "Priv", "Mixed", "Parts"];
    let commands = types.map(|ty| format!("ptype/o {ty}"));
    lab.same_as_gdb(&commands.each_ref().map(String::as_str))?;
    lab.same_as_gdb(&["ptype Priv", "ptype Mixed", "ptype Parts"])
}

const RUST: &str = r#"struct S { a: u8, b: u64, t: (u8, u32), o: Option<u32> }
struct P(u16, u64);
fn main() {
    let s = S { a: 1, b: 2, t: (1, 2), o: Some(1) };
    let p = P(1, 2);
    println!("{} {}", s.b + s.a as u64 + s.t.0 as u64 + s.t.1 as u64, s.o.is_some());
    println!("{}", p.0 as u64 + p.1);
}
"#;

/// gdb takes the end of the last field for the whole's.
#[test]
fn layouts_of_rust() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build("rustc", "prog.rs", RUST, "prog", &["--edition", "2021"])?;
    let text = lab.text(&["break 6", "run", "ptype/o s", "ptype/o p", "ptype/o s.t"])?;
    let said = text.split_once("/* offset").map(|(_, rest)| rest);
    let wanted = "      |    size */  type = struct prog::S {\n\
        /*      0      |       8 */    o: core::option::Option<u32>,\n\
        /*      8      |       8 */    b: u64,\n\
        /*     16      |       8 */    t: (u8, u32),\n\
        /*     24      |       1 */    a: u8,\n\
        /* XXX  7-byte padding   */\n\n\
        \x20                              /* total size (bytes):   32 */\n\
        \x20                            }\n\
        /* offset      |    size */  type = struct prog::P (\n\
        /*      0      |       8 */    u64,\n\
        /*      8      |       2 */    u16,\n\
        /* XXX  6-byte padding   */\n\n\
        \x20                              /* total size (bytes):   16 */\n\
        \x20                            )\n\
        type = (u8, u32)\n";
    assert_eq!(said, Some(wanted), "{text}");
    Ok(())
}
