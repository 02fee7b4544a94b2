//! Calls that wait with a limit, in a program that is stopped again and again:
//! none comes back early, and none begins its wait anew each time.

mod common;

use common::compile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use verde_engine::{Cause, End};

const CALLS: [&str; 26] = [
    "epoll_wait",
    "epoll_child",
    "epoll_pwait",
    "epoll_raw",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect",
    "nanosleep",
    "clock_nanosleep",
    "clock_nanosleep_until",
    "sem_timedwait",
    "futex",
    "cond_timedwait",
    "semtimedop",
    "sigtimedwait",
    "mq_timedreceive",
    "io_getevents",
    "recv",
    "read",
    "recvmsg",
    "accept",
    "connect",
    "connect_inet",
    "send",
];

/// More stops than fit into any of the waits.
const MOST_STOPS: usize = 1000;

/// Says that it is over, also when an assertion failed.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn limits_are_kept_through_stops() {
    let program = compile("timeouts.c", &["-O1", "-lrt"]);
    for call in CALLS {
        let mut process = program.launch(&[call]);
        let interrupter = process.interrupter();
        let over = AtomicBool::new(false);
        let mut stops = 0;
        let end = std::thread::scope(|scope| {
            let _over = Over(&over);
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(7));
                    interrupter.interrupt();
                }
            });
            loop {
                process.resume_all().expect("resumed");
                let Some(stop) = process.wait().expect("waited") else {
                    continue;
                };
                if let Some(end) = stop.ended() {
                    return end;
                }
                assert!(stop.causes.contains(&Cause::Interrupted), "{stop:?}");
                stops += 1;
                assert!(stops < MOST_STOPS, "{call} begins anew at every stop");
            }
        });
        assert_eq!(end, End::Exited(0), "{call} after {stops} stops");
        assert!(stops > 0, "{call} was not stopped");
    }
}
