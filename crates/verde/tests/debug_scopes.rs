//! What a name means where it stands: in the scopes around the code, and in no others.

mod lab;

use lab::{Fallible, Lab};

const SCOPES: &str = r#"#include <vector>
#include <string>
namespace geo {
int hidden_away = 17;
namespace inner { int deep = 4; int plus(int a) { return a + 1; } }
struct Point { int x, y; };
int norm(Point p) { return p.x + p.y; }
struct Base { int z; static int made; static int stat(int q) { return q + 1; }
  int only_base(int k) { return z * k; } virtual int who() { return 1; } virtual ~Base() {} };
int Base::made = 3;
struct Circle : Base {
  int w;
  static int count;
  int unique_m(int k) const { return w + k; }
  int over(int k) { return k; }
  int over(const char *) { return -1; }
  int who() override { return 2; }
  int title_of() { return w; }
  int go() { return unique_m(3) + only_base(2) + stat(1) + over(1) + over("") + title_of() + who(); }
  static int of_class(int a) { return a + count + made; }
};
int Circle::count = 8;
enum class Color { Red, Green = 5 };
enum Shape { ROUND = 2, SQUARE };
int in_namespace(int a) { return a + inner::deep; }
}
namespace { int unnamed = 6; }
namespace other { struct Unrelated { static int lonely; int size() { return 1; } }; int Unrelated::lonely = 99; }
namespace g = geo;
static int over(int a) { return a; }
int with_using(int a) {
  using namespace geo::inner;
  using geo::hidden_away;
  return a + deep + hidden_away + plus(1);
}
static int guarded(int x) { std::vector<int> v{1, 2}; return x + (int)v.size() + over(1); }
int main() {
  geo::Circle c; c.z = 2; c.w = 5;
  geo::Point p{1, 2};
  other::Unrelated u;
  int r = c.go() + geo::Circle::of_class(1) + geo::in_namespace(2) + with_using(3) + guarded(4);
  return r + geo::norm(p) + u.size() + (int)geo::Color::Red + geo::ROUND == 1;
}
"#;

fn scopes() -> Result<Lab, Box<dyn std::error::Error>> {
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    lab.build("g++", "prog.cc", SCOPES, "prog", &["-O0"])?;
    Ok(lab)
}

/// The words of errors at a place, which have no hint.
fn refused(lab: &Lab, place: &str, names: &[&str]) -> Fallible {
    for name in names {
        let out = lab.verde(
            &[&format!("break {place}"), "run", &format!("print {name}")],
            &[],
        )?;
        let error = String::from_utf8_lossy(&out.stderr);
        let text = String::from_utf8_lossy(&out.stdout);
        let wanted = format!("No symbol \"{name}\" in current context.");
        assert!(error.starts_with(&wanted), "{place}: {name}: {error}{text}");
        let gdb = lab.gdb(&[&format!("break {place}"), "run", &format!("print {name}")])?;
        assert!(gdb.is_none_or(|t| !t.contains("$1 = ")), "{place}: {name}");
    }
    Ok(())
}

#[test]
fn members_of_others_are_not_found_by_their_last_name() -> Fallible {
    let lab = scopes()?;
    refused(
        &lab,
        "guarded",
        &["size", "lonely", "hidden_away", "deep", "title_of", "made"],
    )?;
    refused(&lab, "geo::in_namespace", &["lonely", "unique_m", "Red"])?;
    let out = lab.verde(&["print hidden_away"], &[])?;
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(
        error.ends_with("  Did you mean \"geo::hidden_away\"?\n"),
        "{error}"
    );
    let out = lab.verde(&["break guarded if size > 3"], &[])?;
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(
        error.contains("No symbol \"size\" in current context."),
        "{error}"
    );
    Ok(())
}

#[test]
fn names_mean_what_the_scopes_around_have() -> Fallible {
    let lab = scopes()?;
    for (place, names) in [
        (
            "guarded",
            &[
                "over(3)",
                "unnamed",
                "geo::hidden_away",
                "geo::Circle::count",
                "geo::inner::plus(2)",
                "geo::Color::Green",
                "geo::ROUND",
                "g::hidden_away",
                "sizeof(geo::Point)",
                "&over",
                "geo::Circle::of_class(1)",
            ][..],
        ),
        (
            "geo::in_namespace",
            &[
                "hidden_away",
                "inner::deep",
                "inner::plus(4)",
                "ROUND",
                "Color::Green",
                "Circle::count",
                "unnamed",
                "sizeof(Point)",
                "geo::inner::deep",
            ][..],
        ),
        ("with_using", &["deep", "hidden_away", "plus(5)"][..]),
        (
            "geo::Circle::go",
            &[
                "w",
                "z",
                "count",
                "made",
                "hidden_away",
                "this->w",
                "Color::Red",
                "inner::deep",
                "Base::made",
            ][..],
        ),
        (
            "geo::Circle::of_class",
            &["count", "made", "hidden_away", "a"][..],
        ),
        (
            "main",
            &["norm(p)", "geo::norm(p)", "c.w", "geo::Base::made"][..],
        ),
    ] {
        let place = format!("break {place}");
        let prints: Vec<String> = names.iter().map(|n| format!("print {n}")).collect();
        let mut commands = vec![place.as_str(), "run"];
        commands.extend(prints.iter().map(String::as_str));
        if place.ends_with("main") {
            commands.splice(2..2, ["next", "next"]);
        }
        lab.same_as_gdb(&commands)?;
    }
    Ok(())
}

#[test]
fn methods_are_called_by_their_names_alone() -> Fallible {
    let lab = scopes()?;
    let commands = [
        "break geo::Circle::go",
        "run",
        "print unique_m(3)",
        "print only_base(2)",
        "print stat(1)",
        "print over(7)",
        "print over(\"x\")",
        "print who()",
        "print title_of()",
        "print Base::z",
        "print Circle::stat(1)",
    ];
    let text = lab.text(&commands)?;
    for (number, value) in [8, 4, 2, 7, -1, 2, 5, 2, 2].iter().enumerate() {
        let line = format!("${} = {value}\n", number + 1);
        assert!(text.contains(&line), "{line:?} in {text}");
    }
    Ok(())
}

const CRATE: &str = r#"
static COUNTER: u32 = 3;
pub mod shelf {
    pub static DEPTH: u32 = 7;
    pub struct Book { pub pages: u32 }
    impl Book { pub fn leaf_of(&self) -> u32 { self.pages + unsafe { std::ptr::read_volatile(&DEPTH) } } }
    pub trait Named { fn label_of(&self) -> u32; }
    impl Named for Book { fn label_of(&self) -> u32 { self.pages } }
    pub fn inside(b: &Book) -> u32 { let n = b.leaf_of(); n + 1 }
}
enum Held { Number(i64), Pair(Box<i32>, u8), Text { at: u32 } }
fn top(a: u32) -> u32 { static OWN: u32 = 11; a + unsafe { std::ptr::read_volatile(&OWN) } }
fn look(h: &Held) -> i64 { match h { Held::Number(n) => *n, Held::Pair(b, c) => **b as i64 + *c as i64, Held::Text { at } => *at as i64 } }
fn main() {
    let b = shelf::Book { pages: 2 };
    use shelf::Named;
    let e = Held::Pair(Box::new(41), 2);
    let n = Held::Number(9);
    let t = Held::Text { at: 1 };
    let cell = std::rc::Rc::new(std::cell::RefCell::new(shelf::Book { pages: 6 }));
    let r = top(1) + shelf::inside(&b) + b.label_of() + unsafe { std::ptr::read_volatile(&COUNTER) };
    println!("{r} {} {} {} {}", std::cmp::min(r, 3), look(&e), look(&n), look(&t) + cell.borrow().pages as i64);
}
"#;

fn of_rust() -> Result<Lab, Box<dyn std::error::Error>> {
    let lab = Lab::c("int main(void) { return 0; }\n", &["-O0"])?;
    lab.build("rustc", "prog.rs", CRATE, "prog", &["--edition=2024"])?;
    Ok(lab)
}

#[test]
fn rust_names_are_those_of_the_module_and_the_crate() -> Fallible {
    let lab = of_rust()?;
    refused(
        &lab,
        "prog::top",
        &["min", "label_of", "leaf_of", "pages", "DEPTH"],
    )?;
    for (place, prints) in [
        (
            "prog::top",
            &[
                ("COUNTER", "3"),
                ("shelf::DEPTH", "7"),
                ("OWN", "11"),
                ("crate::shelf::DEPTH", "7"),
                ("prog::COUNTER", "3"),
                ("top(2)", "13"),
            ][..],
        ),
        (
            "prog::shelf::inside",
            &[
                ("DEPTH", "7"),
                ("COUNTER", "3"),
                ("crate::COUNTER", "3"),
                ("b.leaf_of()", "9"),
                ("b.label_of()", "2"),
                ("shelf::DEPTH", "7"),
            ][..],
        ),
    ] {
        let texts: Vec<String> = prints.iter().map(|(n, _)| format!("print {n}")).collect();
        let place = format!("break {place}");
        let mut commands = vec![place.as_str(), "run"];
        commands.extend(texts.iter().map(String::as_str));
        let text = lab.text(&commands)?;
        for (number, (name, value)) in prints.iter().enumerate() {
            let line = format!("${} = {value}\n", number + 1);
            assert!(text.contains(&line), "{name}: {line:?} in {text}");
        }
    }
    Ok(())
}

#[test]
fn the_field_is_that_of_the_variant_held() -> Fallible {
    let lab = of_rust()?;
    let commands = [
        "break look",
        "run",
        "up",
        "print *e.0",
        "print e.1",
        "print n.0",
        "print t.at",
        "print b'a'",
        "print 08",
        "print [1, 2, 3]",
        "print [1, 2, 3][1]",
        "print (*cell).value.pages",
    ];
    let text = lab.text(&commands)?;
    for line in [
        "$1 = 41\n",
        "$2 = 2\n",
        "$3 = 9\n",
        "$4 = 1\n",
        "$5 = 97\n",
        "$6 = 8\n",
        "$7 = [1, 2, 3]\n",
        "$8 = 2\n",
        "$9 = 6\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    Ok(())
}

const TEMPLATES: &str = r#"template <class T, int N> struct Ring { T d[N]; int head; T get(int i) const { return d[i % N]; } };
struct Sq { int s; };
static int stop(int n) { return n; }
int lengths(int n) {
  int vla[n]; for (int i = 0; i < n; i++) vla[i] = i * 3;
  int m[n][2]; for (int i = 0; i < n; i++) m[i][0] = m[i][1] = i;
  return stop(vla[1] + m[0][0]);
}
int refs(int &r, const Sq &q, int (&arr)[3], int *&pr, Sq &&rv) {
  int &rr = r; rr++;
  return stop(r + q.s + arr[0] + *pr + rv.s);
}
int main() {
  Ring<short, 4> a{}; Ring<unsigned long, 2> ul{}; Ring<const char *, 3> cs{}; a.d[1] = 7;
  int x = 5; Sq q{3}; int arr[3] = {7, 8, 9}; int *p = &x;
  int t = refs(x, q, arr, p, Sq{4}); t += lengths(4);
  return stop(t + a.get(1) + ul.get(1) + (cs.get(1) != nullptr)) == 0;
}
"#;

/// Types by the names that people write for them, references, and arrays whose length is known late.
#[test]
fn templates_references_and_late_lengths() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", TEMPLATES, &["-O0", "-Wno-vla"])?;
    let refs = "print r;print &r;print rr;print q;print q.s;print &q;print arr;print *arr;\
        print &arr;print arr[1];print pr;print *pr;print &pr;print rv;print rv.s;print r + 1;\
        print -r;print sizeof(r);whatis r;whatis &r;print r = 77;print/x r;print &*&r;\
        print (int)r;print r == rr;print *&r";
    let late = "print vla;print &vla;print &m;print *&vla;print *&m;print sizeof(*&vla);\
        print &vla[1];print &m[1];print sizeof(Ring<short,4>);print sizeof(Ring<short int, 4>);\
        print sizeof(Ring<unsigned long,2>);print sizeof(Ring<const char *, 3>);\
        print sizeof(struct Ring<short,4>);whatis Ring<short,4>;print (Ring<short,4>*)0;\
        print sizeof(Ring<short,4>*);break Ring<short,4>::get;break Ring<unsigned long, 2>::get;\
        info breakpoints;continue;backtrace 1";
    for (place, commands) in [("refs", refs), ("lengths", late)] {
        let start = format!("tbreak {place}");
        let mut all = vec![start.as_str(), "run", "tbreak stop", "continue", "up"];
        all.extend(commands.split(';').map(str::trim));
        lab.same_as_gdb(&all)?;
    }
    let output = lab.verde(&["tbreak refs", "run", "print *r"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "Attempt to take contents of a non-pointer value.\n");
    Ok(())
}
