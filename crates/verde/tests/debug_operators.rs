//! C++ expressions: operators that a program defines, pointers to members, and containers that are
//! asked what the program has no function for.

mod lab;

use lab::{Fallible, Lab};

const OPERATORS: &str = r#"#include <string>
namespace ns {
struct V { double x; };
V operator+(const V &a, const V &b) { return {a.x + b.x}; }
template <class T> V operator*(const V &a, T k) { return {a.x * k}; }
bool operator<(const V &a, const V &b) { return a.x < b.x; }
bool operator==(const V &a, const V &b) { return a.x == b.x; }
V operator-(const V &a) { return {-a.x}; }
std::string operator<<(const V &, int n) { return std::string(n, 'x'); }
}
struct It {
  int i;
  It &operator++() { ++i; return *this; }
  It operator++(int) { It old = *this; ++i; return old; }
  int operator*() const { return i; }
  bool operator!() const { return i == 0; }
  It &operator+=(int n) { i += n; return *this; }
  int operator()(int a, int b) const { return a + b + i; }
};
struct P { int x, y; P operator+(const P &o) const { return {x + o.x, y + o.y}; } int sum() const { return x + y; } };
struct W {
  P p;
  P *operator->() { return &p; }
  P &operator*() { return p; }
  int operator[](int i) const { return i * 10 + p.x; }
};
struct A {
  int a = 1, b = 2;
  virtual int f(int x) { return x + a; }
  int g(int x) const { return x * 2; }
};
struct B : A { int f(int x) override { return x * 100; } };
static void stop() {}
int main() {
  ns::V a{1}, b{2};
  P p{1, 2}, q{3, 4};
  W w{p};
  It it{1};
  A o;
  B derived;
  A *po = &derived;
  int A::*pm = &A::b;
  int A::*null = nullptr;
  int (A::*pf)(int) const = &A::g;
  int (A::*pv)(int) = &A::f;
  int n = 3;
  auto lambda = [n, &o](int k) { return n + o.a + k; };
  int used = (int)(a + b).x + (int)(a * 2.0).x + (a < b) + (a == b) + (int)(-a).x + (int)(a << 1).size();
  used += *++it + *it++ + !it + it(1, 2) + (p + q).sum() + w->x + (*w).y + w[1] + lambda(1);
  it += 1;
  stop();
  return used + o.*pm + (o.*pf)(1) + (po->*pv)(2) + (null == nullptr);
}
"#;

fn program(source: &str) -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::made("g++", "prog.cpp", source, &["-O0", "-std=c++17"])
}

/// Prints each expression one frame above `stop`: what is said of it, a value or an error.
fn check(lab: &Lab, expected: &[(&str, &str)]) -> Fallible {
    let mut commands: Vec<String> = vec!["break stop".into(), "run".into(), "up".into()];
    for (expression, _) in expected {
        commands.push("echo ==\\n".into());
        commands.push(format!("print {expression}"));
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut errors = errors.lines();
    let mut parts = text.split("==\n").skip(1);
    for (expression, wanted) in expected {
        let part = parts.next().unwrap_or_default().trim_end();
        let said = match part.split_once(" = ") {
            Some((number, rest)) if number.starts_with('$') => rest,
            _ => errors.next().unwrap_or_default(),
        };
        assert_eq!(said, *wanted, "{expression}: {text}");
    }
    Ok(())
}

#[test]
fn operators_of_the_program_are_called() -> Fallible {
    let lab = program(OPERATORS)?;
    lab.same_as_gdb(&[
        "break stop",
        "run",
        "up",
        "print a + b",
        "print (a + b).x",
        "print a + b + a",
        "print a < b",
        "print a == b",
        "print -a",
        "print *it",
        "print !it",
        "print it++",
        "print it",
        "print p + q",
        "print (p + q).sum()",
        "print w->x",
        "print w->sum()",
        "print w[2]",
    ])?;
    let expected = [
        ("a * 2.0", "{x = 2}"),
        ("a << 3", "\"xxx\""),
        ("a != b", "true"),
        ("it(1, 2)", "7"),
        ("(*w).y", "2"),
        ("lambda(3)", "7"),
        ("(it += 5).i", "9"),
    ];
    check(&lab, &expected)
}

#[test]
fn an_operator_that_is_not_there_is_named() -> Fallible {
    let lab = program(OPERATORS)?;
    check(
        &lab,
        &[("a % b", "No symbol \"operator%\" in current context.")],
    )
}

#[test]
fn pointers_to_members_lead_to_them() -> Fallible {
    let lab = program(OPERATORS)?;
    lab.same_as_gdb(&[
        "break stop",
        "run",
        "up",
        "print pm",
        "print pf",
        "print pv",
        "print null",
        "print &A::a",
        "print &A::g",
        "print &A::f",
        "print o.*pm",
        "print po->*pm",
        "print (o.*pf)(7)",
        "print (o.*pv)(7)",
        "print o.*pm == 2",
        "print sizeof(pm)",
        "print sizeof(pf)",
        "whatis pm",
        "whatis pf",
    ])?;
    check(&lab, &[("(po->*pv)(7)", "700"), ("derived.*pm", "2")])
}

const CONTAINERS: &str = r#"#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
struct P { int x, y; };
static void stop() {}
int main() {
  std::vector<P> v{{1, 2}, {3, 4}};
  std::vector<bool> bits{true, false};
  std::array<int, 3> arr{7, 8, 9};
  std::deque<int> d{1, 2, 3};
  std::list<int> l{4, 5};
  std::forward_list<int> f{6, 7};
  std::set<int> set{3};
  std::map<std::string, int> m{{"one", 1}, {"two", 2}};
  std::unordered_map<int, std::string> um{{1, "x"}};
  std::string s = "hello", none;
  std::string_view view = "view";
  std::optional<P> o = P{5, 6}, nothing;
  auto up = std::make_unique<P>(P{1, 2});
  auto sp = std::make_shared<std::vector<int>>(3, 7);
  auto vit = v.begin();
  auto mit = m.begin();
  auto lit = l.begin();
  auto dit = d.begin();
  stop();
  return 0;
}
"#;

/// Nothing of this is instantiated: the layouts tell.
#[test]
fn containers_answer_without_functions() -> Fallible {
    let lab = program(CONTAINERS)?;
    let expected = [
        ("v[1].y", "4"),
        ("v[2]", "Index 2 is out of range: the length is 2."),
        ("v.size()", "2"),
        ("v.empty()", "false"),
        ("v.back()", "{x = 3, y = 4}"),
        ("v.front().x", "1"),
        ("bits[0]", "true"),
        ("arr[1]", "8"),
        ("arr[3]", "Index 3 is out of range: the length is 3."),
        ("arr.size()", "3"),
        ("d[2]", "3"),
        ("d.back()", "3"),
        ("l.front()", "4"),
        ("l.size()", "2"),
        ("f", "std::forward_list = {[0] = 6, [1] = 7}"),
        ("f.front()", "6"),
        ("set.size()", "1"),
        ("m[\"two\"]", "2"),
        ("m[\"three\"]", "There is no element with this key."),
        ("um[1]", "\"x\""),
        ("s[1]", "101 'e'"),
        ("s.length()", "5"),
        ("none.empty()", "true"),
        ("s == \"hello\"", "true"),
        ("s != none", "true"),
        ("view.size()", "4"),
        ("o->y", "6"),
        ("*o", "{x = 5, y = 6}"),
        ("*nothing", "It holds no value."),
        ("up->x", "1"),
        ("*up", "{x = 1, y = 2}"),
        ("sp->size()", "3"),
        ("(*sp)[2]", "7"),
        ("*vit", "{x = 1, y = 2}"),
        ("vit->y", "2"),
        ("mit", "{first = \"one\", second = 1}"),
        ("mit->second", "1"),
        ("*lit + *dit", "5"),
        ("$_streq(s, \"hello\")", "1"),
        ("$_strlen(s)", "5"),
        ("$_regex(s, \"h.*o$\")", "1"),
        ("$_streq(s.c_str(), view)", "0"),
    ];
    check(&lab, &expected)
}

const WIDE: &str = r#"static void stop() {}
int main(int argc, char **) {
  wchar_t wc = L'é';
  char16_t u16[] = u"hé";
  char32_t c32 = U'\U0001F600';
  const wchar_t *ws = L"wide";
  const char32_t *us = U"long";
  wchar_t buffer[8] = L"hi";
  int vla[argc + 4];
  for (int i = 0; i < argc + 4; i++) vla[i] = i * i;
  stop();
  return wc + u16[0] + c32 + ws[0] + us[0] + buffer[0] + vla[1];
}
"#;

#[test]
fn wide_characters_are_text() -> Fallible {
    let lab = program(WIDE)?;
    lab.same_as_gdb(&[
        "break stop",
        "run",
        "up",
        "print wc",
        "print u16",
        "print c32",
        "print ws",
        "print us",
        "print buffer",
        "print L'x'",
        "print u'x'",
        "print L\"wide\"",
        "print wc == L'x'",
        "print vla",
        "print sizeof(vla)",
        "print sizeof vla / sizeof vla[0]",
        "whatis ws",
    ])
}

const NAMES: &str = r#"#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>
#include <unistd.h>
static void stop() {}
int main(int argc, char **argv) {
  std::vector<std::string> words(argv, argv + argc);
  std::map<std::string, std::vector<int>> map{{"k", {1}}};
  std::list<int> list{1};
  std::string text = "x";
  std::tuple<int, std::string> tuple{1, "t"};
  stop();
  return getpid() == 0;
}
"#;

/// Types by the names people know, and functions with what they take.
#[test]
fn standard_types_have_short_names() -> Fallible {
    let lab = program(NAMES)?;
    lab.same_as_gdb(&[
        "break main",
        "break stop",
        "run",
        "continue",
        "up",
        "whatis words",
        "whatis map",
        "whatis list",
        "whatis tuple",
        "whatis &words",
        "ptype words",
        "ptype list",
        "ptype std::string",
        "info breakpoints",
    ])
}

/// Nobody says what it returns.
#[test]
fn a_function_of_unknown_result_is_not_called() -> Fallible {
    let lab = program(NAMES)?;
    let unknown = "'getpid' has unknown return type; cast the call to its declared return type";
    check(
        &lab,
        &[("getpid()", unknown), ("(int)getpid() > 1", "true")],
    )
}

/// A vector register is everything that it may hold.
#[test]
fn vector_registers_have_parts() -> Fallible {
    let lab = program(NAMES)?;
    let text = lab.text(&[
        "break stop",
        "run",
        "print $xmm3.v4_int32[1] = 7",
        "print $xmm3.v4_int32[1]",
        "print $xmm3.v8_int16[2]",
        "print sizeof($xmm3)",
    ])?;
    let wanted = "$1 = 7\n$2 = 7\n$3 = 7\n$4 = 16\n";
    assert!(text.ends_with(wanted), "{text}");
    Ok(())
}
