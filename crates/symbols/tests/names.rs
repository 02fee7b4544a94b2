//! Names people write for functions, and what they mean.

mod common;

use common::Lab;
use verde_symbols::{Error, FunctionQuery, Module};

fn names(module: &Module, query: &str) -> Vec<String> {
    let functions = module.functions(&FunctionQuery::parse(query));
    let mut names: Vec<String> = functions.into_iter().map(|f| f.name).collect();
    names.sort();
    names
}

#[test]
fn cpp_scopes_overloads_and_templates() {
    let lab = Lab::new();
    let module = Module::open(lab.build("sym_names.cpp", "-g -O0")).unwrap();
    assert_eq!(names(&module, "f"), ["f", "ns::f", "ns::f", "ns::inner::f"]);
    assert_eq!(names(&module, "::f"), ["f"]);
    assert_eq!(names(&module, "ns::f"), ["ns::f", "ns::f"]);
    assert_eq!(names(&module, "'ns::f(int)'"), ["ns::f"]);
    assert_eq!(names(&module, "'ns::f(const char *)'"), ["ns::f"]);
    assert_eq!(names(&module, "'ns::f(char const*)'"), ["ns::f"]);
    assert_eq!(names(&module, "f(double)"), ["f"]);
    assert_eq!(names(&module, "inner::f"), ["ns::inner::f"]);
    assert_eq!(
        names(&module, "Stack::push"),
        ["Stack<double>::push", "Stack<int>::push"]
    );
    assert_eq!(names(&module, "Stack<int>::push"), ["Stack<int>::push"]);
    assert_eq!(
        names(&module, "largest"),
        ["largest<double>", "largest<int>"]
    );
    assert_eq!(names(&module, "largest<int>"), ["largest<int>"]);
    assert_eq!(names(&module, "hidden"), ["(anonymous namespace)::hidden"]);
    assert_eq!(names(&module, "ns::C::operator<"), ["ns::C::operator<"]);
    assert_eq!(names(&module, "ns::versioned"), ["ns::v1::versioned"]);
    assert_eq!(names(&module, "C::m"), ["ns::C::m"]);
    assert_eq!(
        names(&module, "sym_names.cpp:hidden"),
        ["(anonymous namespace)::hidden"]
    );
    assert!(names(&module, "other.cpp:hidden").is_empty());
    assert!(names(&module, "ns::nothing").is_empty());
}

#[test]
fn rust_paths_generics_and_traits() {
    let lab = Lab::new();
    for flags in ["-g", "-g -C symbol-mangling-version=v0"] {
        let module = Module::open(lab.build("sym_names.rs", flags)).unwrap();
        assert_eq!(
            names(&module, "sym_names::shapes::deep::helper").len(),
            1,
            "{flags}"
        );
        assert_eq!(names(&module, "deep::helper").len(), 1, "{flags}");
        assert_eq!(names(&module, "sym_names::Stack::push").len(), 2, "{flags}");
        assert_eq!(
            names(&module, "sym_names::Stack<i32>::push").len(),
            1,
            "{flags}"
        );
        assert_eq!(names(&module, "sym_names::generic").len(), 2, "{flags}");
        assert_eq!(names(&module, "sym_names::generic<u8>").len(), 1, "{flags}");
        assert_eq!(
            names(&module, "sym_names::shapes::Area::area").len(),
            2,
            "{flags}"
        );
        assert_eq!(
            names(&module, "sym_names::shapes::Circle::area").len(),
            1,
            "{flags}"
        );
        assert_eq!(
            names(
                &module,
                "<sym_names::shapes::Circle as sym_names::shapes::Area>::area"
            )
            .len(),
            1
        );
        let main = module.functions(&FunctionQuery::parse("sym_names::main"));
        assert_eq!(main.len(), 1, "{flags}");
    }
}

/// Linkers write a name that another ends with only once.
#[test]
fn names_that_end_other_names_are_linked_by() {
    let lab = Lab::new();
    let source = "#include <stdlib.h>\nvoid *my_malloc(unsigned long n) { return malloc(n); }\n\
        int main(void) { return my_malloc(3) == 0; }\n";
    std::fs::write(lab.path("tail.c"), source).unwrap();
    let program = lab.path("tail");
    common::run(
        std::process::Command::new("gcc")
            .args(["-w", "-O1", "-rdynamic", "-o"])
            .args([&program, &lab.path("tail.c")]),
    );
    let module = Module::open(&program).unwrap();
    for (name, is_linked) in [("my_malloc", true), ("malloc", true), ("alloc", false)] {
        assert_eq!(module.links_by(name), is_linked, "{name}");
    }
}

#[test]
fn unknown_names_have_neighbours() {
    let lab = Lab::new();
    let module = Module::open(lab.build("sym_values.c", "-g -O0")).unwrap();
    assert_eq!(module.nearest_names("stop_her", 3)[0], "stop_here");
    assert_eq!(module.nearest_names("midlde", 3)[0], "middle");
    assert!(module.nearest_names("zzzzzzzzzzzzz", 3).is_empty());
}

#[test]
fn files_that_are_no_programs_are_named() {
    let lab = Lab::new();
    let text = lab.path("text");
    std::fs::write(&text, "not a program").unwrap();
    assert!(matches!(Module::open(&text), Err(Error::NotElf(_))));
    assert!(matches!(
        Module::open(lab.path("missing")),
        Err(Error::Open { .. })
    ));
    assert!(matches!(Module::open(lab.dir()), Err(Error::NotRegular(_))));
    let mut program = std::fs::read(lab.build("sym_nowhere.c", "-g")).unwrap();
    program[18] = 183;
    let foreign = lab.path("foreign");
    std::fs::write(&foreign, &program).unwrap();
    let error = Module::open(&foreign).err().unwrap().to_string();
    assert!(
        error.contains("AArch64") && !error.contains('\n'),
        "{error}"
    );
    let cut = lab.path("cut");
    std::fs::write(&cut, &program[..40]).unwrap();
    assert!(Module::open(&cut).is_err());
    std::fs::write(lab.path("empty"), "").unwrap();
    assert!(matches!(
        Module::open(lab.path("empty")),
        Err(Error::NotElf(_))
    ));
}
