//! Values and types of a C program, against gdb on the same core file.

mod support;

use support::common::{Lab, line_of};
use support::{compare, make_core};

const EXPRESSIONS: &[&str] = &[
    "print k", "print loc", "print inner", "print *p", "print p", "print p->next->next->name",
    "print p->next->w", "print table[2]@3", "print table", "print &table[1] - &table[0]",
    "print/x counter + 255", "print un", "print sizeof(struct item)", "print (char)65",
    "print k == 1 && loc > 1", "print third.name", "print *p->next->next", "print nest",
    "print op", "print vp", "print uc", "print neg", "print letter", "print newline", "print zero",
    "print big", "print huge", "print fl", "print ld", "print flag", "print fs", "print odd",
    "print none", "print unknown", "print alias", "print *alias", "print w", "print grid",
    "print pointers", "print copy", "print cp", "print calls", "print s", "print d", "print c",
    "print message", "print text", "print zeros", "print matrix", "print numbers",
    "print local_to_thread", "print zero_in_thread", "print ready", "print fixed", "print yes",
    "print long_text", "print repeated", "print raw", "print items", "print shorts",
    "print nothing", "print packed", "print words", "print handlers", "print add", "print &add",
    "print *add", "print &counter", "print &text", "print &table[1]", "print &p->w", "print main",
    "print twisted", "print stop_here::calls", "print 'sym_values.c'::table",
    "print $rip", "print $pc", "print $sp != 0", "print/x 255", "print/d -1", "print/u (char)-1",
    "print/o 8", "print/t 10", "print/c 97", "print/x table", "print/x *p->next", "print/f 3",
    "print/a &counter", "print/z 5", "print/c raw", "print/d letter", "print/x neg",
    "print/x packed", "print/s text", "print/d fs", "print/x d",
    "print 1 + 2", "print 7 / 2", "print -7 / 2", "print -7 % 3", "print 7.0 / 2",     "print 1l << 33", "print 5 > 3", "print !5", "print ~5", "print -k", "print 10 ? 1 : 2",
    "print 0xffffffff", "print 4294967296", "print 2147483648", "print 'a'", "print '\\n'",
    "print \"hi\"", "print sizeof(int)", "print sizeof(items)", "print (long)k", "print (float)k",
    "print (unsigned char)300", "print (short)-1", "print (enum color)5", "print (void *)0",
    "print (char *)0", "print *(int *)&counter", "print (struct item *)p", "print ((struct item *)p)->id",
    "print uc + neg", "print k * 2.5", "print d + 1", "print fl * 2", "print huge + 1", "print letter + 1",
    "print p == 0", "print p != alias", "print *pointers[0]", "print pointers[1]", "print *words@2",
    "print words[0][1]", "print &*p == p", "print table[0] + table[1] * 2", "print (k, loc)",
    "print k & 1 | 4", "print k ^ 3", "print counter == 7 || 0", "print p->name", "print *p->name@2",
    "print {int}&counter", "print RED", "print GREEN + 1", "print BLUE == 9", "print table + 1",
    "print *(table + 1)", "print text[0]", "print &text[1]", "print message[1]", "print nest.at.x",
    "print nest.l", "print packed.b", "print packed.a + 1", "print handlers.table[1]", "print $nosuch",
    "print nonexistent", "print p->nosuch", "print *k", "print k.x", "print 1 +", "print 1/0",
    "print *(int *)0", "print *(struct item *)8", "print (char *)1", "print sizeof(long double)",
    "print (_Bool)5", "print 1.5e3", "print 1e400 > 1", "print 10 % 0", "print -1 > 1u", "print 3u - 5",
    "print zeros[299]", "print table[1]@2", "print matrix[1]", "print *matrix", "print &matrix",
    "print &matrix[1]", "print **matrix",
    "whatis k", "whatis p", "whatis *p", "whatis table", "whatis op", "whatis add", "whatis &table",
    "whatis &add", "whatis words", "whatis matrix", "whatis cp", "whatis message", "whatis alias",
    "whatis handlers.table", "whatis handlers", "whatis item_t", "whatis operation", "whatis struct item",
    "whatis 1 + 1", "whatis 1ul", "whatis 1.0", "whatis 1.0f", "whatis 'a'", "whatis \"abc\"",
    "whatis k == 1", "whatis (char)1", "whatis uc + uc", "whatis d + fl",
    "whatis nest.at", "whatis un", "whatis fs", "whatis ready", "whatis fixed", "whatis main",
    "whatis stop_here", "whatis packed", "whatis packed.d", "whatis local_to_thread", "whatis twisted",
    "whatis &matrix[1]", "whatis k + 1l", "whatis huge + 1", "whatis letter + 1", "whatis p + 1",
    "whatis unsigned long", "whatis char **",
    "ptype struct item", "ptype p", "ptype union number", "ptype struct bits", "ptype struct nested",
    "ptype operation", "ptype item_t", "ptype word", "ptype struct handlers", "ptype enum color",
    "ptype c", "ptype add", "ptype main", "ptype table", "ptype matrix", "ptype k", "ptype fs",
    "ptype nest.at", "ptype cp", "ptype message", "ptype &handlers.table", "ptype struct nosuch",
    "x/3dw table", "x/s third.name", "x/2s words[0]", "x/4xb &counter", "x/2xg &counter", "x/3uh shorts",
    "x/2f numbers", "x/2c text", "x/a &message", "x/2ow table", "x/2tw &counter", "x/3xw matrix",
    "x/10xb raw", "x/4dw table+1",
];

#[test]
fn stop_in_a_block_at_o0() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O0");
    let line = line_of("sym_values.c", "STOP");
    let core = make_core(&lab, &program, &format!("sym_values.c:{line}"));
    compare(&lab, &program, &core, 0, EXPRESSIONS);
}

#[test]
fn outer_frames() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-gdwarf-4 -O0 -no-pie");
    let core = make_core(&lab, &program, "stop_here");
    compare(&lab, &program, &core, 1, &["print depth", "print *p", "print p->next->name", "print $pc", "print $sp"]);
    compare(&lab, &program, &core, 4, &["print first", "print r", "print argc", "print argv[0]", "print *argv@1"]);
}

#[test]
fn optimised_code() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O2");
    let core = make_core(&lab, &program, "stop_here");
    let commands = [
        "print k", "print p", "print *p", "print d", "print s", "print c", "print loc", "print nest",
        "print un", "print uc", "print big", "print copy", "print op", "print grid", "print w",
        "print pointers", "print huge", "print flag", "print alias", "print fl",
    ];
    compare(&lab, &program, &core, 0, &commands);
    compare(&lab, &program, &core, 1, &["print first", "print argc", "print depth", "print p", "print r"]);
}
