//! Values and types of a C++ program, against gdb with libstdc++'s printers on the same core file.

mod support;

use support::common::{Lab, line_of};
use support::{compare, make_core};

const EXPRESSIONS: &[&str] = &[
    "print s",
    "print v",
    "print p",
    "print p->x",
    "print p->label",
    "print *p",
    "print m",
    "print ref",
    "print both",
    "print empty",
    "print longer",
    "print names",
    "print none",
    "print same",
    "print set",
    "print hash",
    "print list",
    "print unique",
    "print shared",
    "print nothing",
    "print some",
    "print nil",
    "print view",
    "print pair",
    "print buffer",
    "print kind",
    "print plain",
    "print nil_struct",
    "print flag",
    "print c16",
    "print c32",
    "print alias",
    "print constant",
    "print base",
    "print *base",
    "print base_ref",
    "print geo::Point::made",
    "print p->made",
    "print global_counter",
    "print ::global_counter",
    "print geo::ONE",
    "print geo::Kind::Large",
    "print v[1]",
    "print &ref",
    "print &alias",
    "print sizeof(geo::Both)",
    "print both.l",
    "print both.r",
    "print (geo::Base *)p",
    "print ((geo::Point *)base)->x",
    "print *(geo::Right *)&both",
    "print p->b",
    "print ref + 1",
    "print true",
    "print ref == 12",
    "print flag && false",
    "print &both",
    "print names[0]",
    "print pair.second",
    "print buffer.data[1]",
    "print &p->label",
    "print stop_here",
    "print kind == geo::Kind::Large",
    "print plain + 1",
    "whatis s",
    "whatis p",
    "whatis *p",
    "whatis ref",
    "whatis both",
    "whatis kind",
    "whatis buffer",
    "whatis buffer.data",
    "whatis geo::Both",
    "whatis flag",
    "whatis pair",
    "whatis constant",
    "whatis geo::Point",
    "whatis &ref",
    "whatis c16",
    "whatis 1 == 1",
    "ptype both",
    "ptype geo::Left",
    "ptype kind",
    "ptype plain",
    "ptype geo::Point",
    "ptype geo::Empty",
    "ptype ref",
];

#[test]
fn at_a_stop_and_inside_a_member_function() {
    let lab = Lab::new();
    let program = lab.build("sym_values.cpp", "-g -O0 -std=c++17");
    let line = line_of("sym_values.cpp", "STOP");
    let core = make_core(&lab, &program, &format!("sym_values.cpp:{line}"));
    compare(&lab, &program, &core, 0, EXPRESSIONS);
    compare(
        &lab,
        &program,
        &core,
        1,
        &[
            "print s", "print v", "print m", "print u", "print *u", "print n",
        ],
    );
    let core = make_core(&lab, &program, "geo::Point::twice");
    let commands = [
        "print x",
        "print *this",
        "print this",
        "print this->x",
        "print label",
        "print b",
        "print made",
        "print x + b",
        "print hidden",
        "whatis this",
        "whatis *this",
    ];
    compare(&lab, &program, &core, 0, &commands);
}
