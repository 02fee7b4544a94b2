//! The world is brought to rest again and again while it runs: nobody is left behind, and nothing
//! is told twice.

mod common;

use common::{compile, limited, run_out, transparent};
use std::collections::BTreeMap;
use verde_engine::{Cause, End, On, Owner, Tid, Trap};

const GETPPID: u64 = 110;
const TIMES: usize = 200;

/// Where one thread has stopped others have, too, some of them since the stop before, at calls of
/// which nobody has been told yet. They are led out of them, and go on by themselves.
#[test]
fn threads_at_calls_that_were_not_told_go_on() {
    for threads in ["3", "5"] {
        let program = compile("asks.c", &["-O1"]);
        let times = TIMES.to_string();
        let (mut process, _) = program.launch_with(&[threads, &times], transparent());
        let on = On::Syscall(Some(GETPPID));
        process
            .insert(Trap::new(on, Owner::User))
            .expect("inserted");
        let mut told: BTreeMap<Tid, (usize, usize)> = BTreeMap::new();
        let mut stops = 0;
        let end = limited(&mut process, |process| {
            run_out(process, |process, stop| {
                let (entries, exits) = told.entry(stop.tid).or_default();
                for cause in &stop.causes {
                    match cause {
                        Cause::Syscall { value: None, .. } => *entries += 1,
                        Cause::Syscall { .. } => *exits += 1,
                        other => panic!("{other:?}"),
                    }
                }
                let mut world = process.stop_all().expect("stopped");
                stops += 1;
                if stops % 2 == 0 {
                    world.calm().expect("calm");
                }
            })
        });
        assert_eq!(end, End::Exited(7));
        let exact = BTreeMap::from_iter(told.keys().map(|tid| (*tid, (TIMES, TIMES))));
        assert_eq!(told, exact);
        assert_eq!(told.len().to_string(), threads);
    }
}
