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

/// Stores of several threads at one time: the value that the first one's stop shows has the others'
/// in it, which are hits all the same. A store of what is there is none.
#[test]
fn each_store_of_several_threads_counts() -> Fallible {
    let source = r#"#include <pthread.h>
#include <stdlib.h>
long counter, again;
static void *add(void *unused) {
    for (int i = 0; i < 40; i++) {
        __sync_fetch_and_add(&counter, 1);
        again = 7;
    }
    return unused;
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t threads[16];
    again = 7;
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], 0);
    return counter == n * 40 ? 0 : 1;
}
"#;
    let lab = Lab::c(source, &["-O1", "-pthread"])?;
    for threads in [2, 4, 16] {
        let output = lab.verde(
            &[
                "watch counter",
                "watch again",
                "ignore 1 1000000",
                "ignore 2 1000000",
                "run",
                "info watchpoints",
            ],
            &[&threads.to_string()],
        )?;
        let text = String::from_utf8_lossy(&output.stdout);
        let hits = format!("already hit {} times", threads * 40);
        in_order(&text, &["exited normally", &hits, "already hit 1 time"]);
    }
    Ok(())
}

/// Variables of a library that is opened again begin with their values of the file, and not with
/// those that were there before it was closed.
#[test]
fn a_library_opened_again_begins_anew() -> Fallible {
    let source = r#"#include <dlfcn.h>
int main(void) {
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        void *library = dlopen("./libagain.so", RTLD_NOW);
        int (*count)(int) = (int (*)(int))dlsym(library, "count");
        sum += count(1);
        dlclose(library);
    }
    return sum == 20 ? 0 : 1;
}
"#;
    let lab = Lab::c(source, &["-O0", "-ldl"])?;
    let library = "int counted = 3;\nint count(int x) { counted += x; return counted; }\n";
    lab.build(
        "gcc",
        "again.c",
        library,
        "libagain.so",
        &["-shared", "-fPIC"],
    )?;
    let cd = format!("cd {}", lab.path("").display());
    let text = lab.text(&[
        &cd,
        "set breakpoint pending on",
        "break count",
        "run",
        "watch counted",
        "delete 1",
        "continue",
        "ignore 2 100",
        "continue",
        "info watchpoints",
    ])?;
    let one = ["Old value = 3", "New value = 4", "already hit 5 times"];
    in_order(&text, &one);
    Ok(())
}

/// More than the CPU has slots for, inside a filter as a container has it.
#[test]
fn many_are_watched_inside_a_filter() -> Fallible {
    let source = r#"#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
long v[6];
int main(int argc, char **argv) {
    if (argc == 1) {
        for (int i = 0; i < 6; i++)
            v[i]++;
        return 0;
    }
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, all};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 1;
    execv(argv[1], argv + 1);
    return 1;
}
"#;
    let lab = Lab::c(source, &["-O0"])?;
    let mut inside = std::process::Command::new(lab.path("prog"));
    inside
        .arg(env!("CARGO_BIN_EXE_verde"))
        .args(["debug", "--batch"]);
    for i in 0..6 {
        inside.args(["--ex", &format!("watch v[{i}]")]);
    }
    let steps = ["run", "checkpoint", "continue", "continue", "continue"];
    for command in steps.iter().chain(["continue", "continue"].iter()) {
        inside.args(["--ex", command]);
    }
    let output = inside.arg(lab.path("prog")).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut wanted = vec![
        String::from("watchpoint 1: v[0]\n\nOld"),
        "Checkpoint 1".to_owned(),
    ];
    wanted.extend((2..=6).map(|i| format!("watchpoint {i}: v[{}]\n\nOld", i - 1)));
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    in_order(&text, &wanted);
    assert!(output.status.success(), "{text}");
    Ok(())
}
