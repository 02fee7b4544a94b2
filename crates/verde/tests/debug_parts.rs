//! Values that optimised code has taken apart, and forms of values that gdb's users know.

mod lab;

use lab::{Fallible, Lab, essentials, in_order};

/// `q` has parts that nobody needs.
const APART: &str = r#"struct point { int x, y, z; };
struct shape { struct point at; long size; int corners[4]; unsigned flag : 3, rest : 5; };
volatile int sink;
__attribute__((noinline)) void use(int v) { sink = v; }
__attribute__((noinline)) int work(int k) {
  struct point p; p.x = k; p.y = k * 2; p.z = k + 7;
  struct shape q; q.at = p; q.size = k; q.corners[1] = k * 3;
  use(p.x + k);
  use(p.y);
  use(q.corners[1]);
  return (int)q.size + p.x;
}
int main(int c, char **v) { return work(c + 4) == 3; }
"#;

#[test]
fn what_is_left_of_a_value_is_shown() -> Fallible {
    let lab = Lab::c(APART, &["-O2"])?;
    let commands = [
        "break use",
        "run",
        "up",
        "info locals",
        "print q",
        "print q.at",
        "print q.at.y",
        "print q.corners",
        "print q.corners[0]",
        "print q.corners[1] + 1",
        "print q.flag",
        "print/x q",
    ];
    // What gdb says of the frames has values of their beginnings as well.
    let values = |text: &str| {
        let mut lines = essentials(text);
        let first = lines.iter().position(|line| line.starts_with("p = "));
        lines.split_off(first.unwrap_or(0))
    };
    let ours = lab.text(&commands)?;
    in_order(&ours, &["q = {at = {x = 5, y = 10", "<optimized out>, 15,"]);
    if let Some(theirs) = lab.gdb(&commands)? {
        assert_eq!(values(&ours), values(&theirs));
    }
    Ok(())
}

const FORMS: &str = r#"#include <uchar.h>
#include <wchar.h>
typedef int (*operation)(int);
typedef operation again;
static int twice(int x) { return x * 2; }
again chosen = twice;
char16_t two = u'z';
char32_t four = U'x';
wchar_t wide[] = L"wide";
char16_t text[] = u"text";
int ten[10], eleven[11];
int main(void) { return chosen(2) == 5; }
"#;

#[test]
fn characters_flags_and_typedefs_are_shown_as_gdb_does() -> Fallible {
    let lab = Lab::c(FORMS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break main",
        "run",
        "print two",
        "print four",
        "print ten",
        "print eleven",
        "print $eflags",
        "print/x $eflags & 0x200",
        "whatis again",
        "whatis operation",
        "whatis chosen",
        "x/ws wide",
        "x/hs text",
        "x/s &wide",
        "info address chosen",
        "info address main",
    ])
}

const CPP: &str = r#"#include <any>
#include <initializer_list>
#include <list>
#include <memory>
#include <span>
#include <string>
namespace ns {
struct Base { int b = 1; virtual ~Base() = default; };
template <typename T> struct Derived : virtual Base { T d = 2; };
struct Plain { int p = 3; };
struct Left : virtual Base { int l = 4; };
struct Right : virtual Base { int r = 5; };
struct Diamond : Left, Right { int m = 6; };
}
static void stop() {}
int main() {
  std::any number = 42, text = std::string("held"), empty;
  std::any own = ns::Plain();
  int values[] = {1, 2, 3};
  std::span<int> some(values);
  std::span<int, 3> fixed(values);
  std::initializer_list<int> list{4, 5};
  std::unique_ptr<int[]> array(new int[2]{6, 7});
  std::list<std::string> names{"x", "y"};
  auto name = names.begin();
  auto nothing = nullptr;
  char8_t small = u8'x', eight[] = u8"eight";
  ns::Derived<int> object;
  ns::Base *base = &object, &reference = object;
  ns::Base only;
  ns::Base *same = &only;
  ns::Plain *plain = nullptr;
  ns::Diamond diamond, diamonds[2];
  stop();
  return 0;
}
"#;

#[test]
fn wrappers_of_cpp_and_objects_are_shown_as_gdb_does() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", CPP, &["-O0", "-std=c++20"])?;
    let show = [
        "break stop",
        "run",
        "up",
        "print number",
        "print text",
        "print empty",
        "print own",
        "print some",
        "print fixed",
        "print list",
        "print array",
        "print name",
        "print nothing",
        "print small",
        "print eight",
        "print base",
        "print *base",
        "set print object on",
        "print base",
        "print *base",
        "print same",
        "print *same",
        "print reference",
        "print plain",
        "print diamond",
        "print diamonds",
        "set print object off",
        "print base",
    ];
    lab.same_as_gdb(&show)?;
    let text = lab.text(&show)?;
    in_order(&text, &["std::any containing int", "(ns::Derived<int> *)"]);
    Ok(())
}

/// What is not here is said in one line, and the next command runs.
#[test]
fn what_gdb_has_and_verde_has_not_is_said() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &[])?;
    let output = lab.verde(&["core x", "attach 1", "x/ws 0", "print 6 * 7"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 3, "{errors}");
    in_order(
        &errors,
        &[
            "Core files cannot be read",
            "verde attach PID",
            "at address 0x0\n",
        ],
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("$1 = 42"));
    let mut core = vec![0; 64];
    core[..18].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0");
    core[18..24].copy_from_slice(b"\x3e\0\x01\0\0\0");
    core[52..58].copy_from_slice(b"\x40\0\x38\0\0\0");
    std::fs::write(lab.path("prog"), core)?;
    let output = lab.verde(&["run"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("a core file, not a program"), "{errors}");
    assert_eq!(errors.lines().count(), 1);
    Ok(())
}
