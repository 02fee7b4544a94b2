//! Watchpoints on expressions: what they read is watched as a whole.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"struct node { int x; int y; struct node *next; };
static struct node one = {1, 2, 0}, two = {10, 20, &one};
struct node *p = &one;
int table[4] = {4, 3, 2, 1};
int index_;
static void change(struct node *n) {
    n->x += 5;
    n->y += 5;
}
static int local(struct node *first) {
    struct node *q = first;
    int sum = q->x;
    change(q);
    sum += q->x;
    q = q->next;
    sum += q->x;
    change(q);
    return sum;
}
int main(void) {
    change(&one);
    p = &two;
    change(&one);
    change(&two);
    p = &one;
    p = 0;
    index_ = 2;
    table[2] = 7;
    table[0] = 9;
    index_ = 0;
    return local(&two) > 0 ? 0 : 1;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

#[test]
fn a_member_behind_a_pointer_is_watched_with_the_pointer() -> Fallible {
    let lab = lab()?;
    lab.same_as_gdb(&[
        "tbreak main",
        "run",
        "watch p->x",
        "continue",
        "continue",
        "continue",
        "continue",
        "continue",
    ])?;
    lab.same_as_gdb(&[
        "tbreak main",
        "run",
        "watch table[index_]",
        "continue",
        "continue",
        "continue",
    ])?;
    lab.same_as_gdb(&["watch two.x + two.y", "run", "continue", "info breakpoints"])?;
    let text = lab.script("start\nwatch p->x\nc\nc\nc\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Old value = 1\nNew value = 6\n",
            "Old value = 6\nNew value = 10\n",
            "Old value = 10\nNew value = 15\n",
            // one.x was written twice, the second time unseen.
            "Old value = 15\nNew value = 11\n",
            "Old value = 11\nNew value = <unreadable>",
        ],
    );
    Ok(())
}

#[test]
fn a_location_is_watched_alone() -> Fallible {
    let text = lab()?.script("start\nwatch -l p->x\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Hardware watchpoint 2: -location p->x\n",
            "Old value = 1\nNew value = 6\n",
            "Old value = 6\nNew value = 11\n",
        ],
    );
    assert!(!text.contains("New value = 10"), "{text}");
    Ok(())
}

#[test]
fn a_local_chain_is_followed_from_called_functions() -> Fallible {
    let text = lab()?.script("break 12\nrun\nwatch q->x\nc\nbt 1\nc\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Hardware watchpoint 2: q->x\n",
            "Old value = 15\nNew value = 20\n",
            "#0  change (n=",
            "Old value = 20\nNew value = 11\n",
            "Old value = 11\nNew value = 16\n",
            "Watchpoint 2 deleted",
        ],
    );
    Ok(())
}

#[test]
fn what_cannot_be_watched() -> Fallible {
    let commands = [
        "watch",
        "watch 5",
        "watch nothing",
        "watch p = 0",
        "print 1",
    ];
    let output = lab()?.verde(&commands, &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), commands.len() - 1, "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "$1 = 1\n");
    Ok(())
}

const CONDITIONS: &str = r#"int g;
struct s { int a; long arr[2]; };
static void add(int *q, int k) {
    *q += k;
}
static void grow(struct s *p, int k) {
    p->arr[1] += k;
}
static int deep(int n, int *q) {
    return n > 0 ? 1 + deep(n - 1, q) : (*q += 7);
}
int main(void) {
    int total = 0, i;
    struct s s = {0, {0, 0}};
    for (i = 0; i < 6; i++) {
        add(&total, i);
        add(&g, i);
        grow(&s, i);
    }
    deep(100, &total);
    return 0;
}
"#;

#[test]
fn a_condition_means_the_names_of_the_frame_that_is_watched() -> Fallible {
    let lab = Lab::c(CONDITIONS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 15",
        "run",
        "watch total if total > 5",
        "continue",
        "continue",
        "continue",
        "continue",
        "info watchpoints",
    ])?;
    // A global's condition has the names of where it was set.
    lab.same_as_gdb(&[
        "break 15",
        "run",
        "watch g if total == 6",
        "continue",
        "continue",
    ])?;
    // One that comes later has the names of the watched expression, wherever the program stands.
    lab.same_as_gdb(&[
        "break 15",
        "run",
        "watch s.arr[1]",
        "condition 2 s.arr[1] > 2",
        "continue",
        "continue",
    ])?;
    let inside = ["break 15", "run", "watch s.arr[1]", "continue"];
    let text = lab.script(
        &format!("{}\ncondition 2 s.arr[1] > 2\nc\n", inside.join("\n")),
        &[],
    )?;
    in_order(
        &text,
        &[
            "Old value = 0\nNew value = 1\n",
            "Old value = 1\nNew value = 3\n",
        ],
    );
    Ok(())
}

#[test]
fn a_condition_that_cannot_be_tested_stops() -> Fallible {
    let lab = Lab::c(CONDITIONS, &["-O0"])?;
    let script = "break 15\nrun\nwatch total if *(int *)(long)(total - total) == 1\nc\n";
    let text = lab.script(script, &[])?;
    in_order(
        &text,
        &[
            "Error in testing condition for breakpoint 2:\n\
             Cannot access memory at address 0x0\n",
            "Old value = 0\nNew value = 1\n",
        ],
    );
    Ok(())
}

const OWN: &str = r#"#include <pthread.h>
__thread int own = 1;
static void *run(void *p) {
    own = 40;
    own += 2;
    return p;
}
int main(void) {
    pthread_t t;
    own = 2;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    own = 3;
    return 0;
}
"#;

#[test]
fn what_each_thread_has_for_itself_is_that_of_the_selected_thread() -> Fallible {
    let lab = Lab::c(OWN, &["-O0", "-pthread"])?;
    let text = lab.script("break run\nrun\nwatch own\nc\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Each thread has its own: that of thread 2 is watched.\n",
            "Old value = 1\nNew value = 40\n",
            "Old value = 40\nNew value = 42\n",
        ],
    );
    assert!(!text.contains("New value = 3\n"), "{text}");
    let text = lab.script("break run\nrun\nthread 1\nwatch own\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "that of thread 1 is watched.\n",
            "Old value = 2\nNew value = 3\n",
        ],
    );
    assert!(!text.contains("New value = 40\n"), "{text}");
    Ok(())
}

const BITS: &str = r#"struct value { int kind; unsigned refs : 12; unsigned frozen : 1; };
struct value one = {1, 2, 0}, two = {1, 7, 0};
static int half(int k) {
    k += 1;
    return k / 2;
}
int main(void) {
    struct value *v = &one;
    v->refs++;
    v->frozen = 1;
    v = &two;
    v->refs++;
    one.refs = 9;
    return half(4) + half(6);
}
"#;

#[test]
fn the_place_of_a_bit_field_is_watched() -> Fallible {
    let lab = Lab::c(BITS, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 9",
        "run",
        "watch -l v->refs",
        "continue",
        "continue",
        "info watchpoints",
    ])
}

#[test]
fn a_result_is_told_with_the_end_of_a_watchpoint() -> Fallible {
    let lab = Lab::c(BITS, &["-O0"])?;
    lab.same_as_gdb(&[
        "tbreak half",
        "run",
        "watch k",
        "continue",
        "finish",
        "break half",
        "continue",
        "finish",
    ])
}
