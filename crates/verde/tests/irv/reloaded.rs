//! Libraries that go and come again, with what each thread has of them.

use crate::bench::Bench;

/// The program loads `late` several times. Each thread stores to its own variable there while the
/// library is loaded, and to fresh memory of the same size before it touches that variable
/// again: what the C library has of `other` makes it release the block of the time before.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#define ROUNDS 4
static pthread_barrier_t all;
static long (*late_set)(long), (*other_set)(long);
static void *library;
static void load(void) {
    library = dlopen("./liblate.so", RTLD_NOW);
    late_set = (long (*)(long))dlsym(library, "late_set");
}
static void *run(void *p) {
    long id = (long)p;
    for (long round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&all);
        if (id == 0) load();
        pthread_barrier_wait(&all);
        other_set(id);
        volatile long *fresh[8];
        for (int i = 0; i < 8; i++) {
            fresh[i] = malloc(31 * sizeof(long));
            for (int k = 0; k < 31; k++) fresh[i][k] = 7;
        }
        /* One of them does not touch it in every round. */
        if (id != 2 || round % 2 == 0) {
            late_set(100 * id + 10 * round + 1);
            late_set(100 * id + 10 * round + 2);
        }
        for (int i = 0; i < 8; i++) { fresh[i][0] = 8; free((void *)fresh[i]); }
        pthread_barrier_wait(&all);
        if (id == 0) dlclose(library);
    }
    return 0;
}
int main(void) {
    pthread_t t[3];
    other_set = (long (*)(long))dlsym(dlopen("./libother.so", RTLD_NOW), "other_set");
    pthread_barrier_init(&all, 0, 3);
    for (long i = 1; i < 3; i++) pthread_create(t + i, 0, run, (void *)i);
    run(0);
    for (int i = 1; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    for name in ["late", "other"] {
        let source = format!(
            "__thread struct {{ long v, rest[30]; }} {name};\n\
             long {name}_set(long x) {{ return {name}.v = x; }}\n"
        );
        let (file, output) = (format!("{name}.c"), format!("lib{name}.so"));
        bench.compile("gcc", &file, &source, &output, &["-shared", "-fPIC"]);
    }
    bench.compile("gcc", "prog.c", PROGRAM, "prog", &["-pthread", "-ldl"]);
    bench
}

#[test]
fn what_each_thread_has_of_a_library_that_comes_again() {
    let bench = bench();
    // The library must be known for its variable to be meant.
    let (rows, remarks) = bench.events_and_remarks(&["event write late.v (ret)"]);
    let mut seen: Vec<i64> = rows
        .iter()
        .filter_map(|e| e["args"]["ret"].as_i64())
        .collect();
    seen.sort_unstable();
    let mut wanted = Vec::new();
    for id in 0..3 {
        for round in (0..4).filter(|r| id != 2 || r % 2 == 0) {
            wanted.extend([1, 2].map(|n| 100 * id + 10 * round + n));
        }
    }
    assert_eq!(seen, wanted, "{remarks}");
    assert_eq!(rows.len(), wanted.len());
}
