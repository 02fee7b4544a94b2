//! What ties a process to the kernel and to files: a checkpoint does not
//! disturb it in the program, and it is there again after every restore.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Output, Program, as_user, compile, exec, next, run_out, transparent, until};
use std::fs;
use std::io::Write;
use std::process::Command;
use verde_checkpoint::{Item, Options, Snapshot, Warning, WhyNewIds};
use verde_engine::{End, Process};

/// Runs the program to its end, and again after a restore of what it was before it looked, as
/// often as items are given to leave out; what it said and the warnings of the last restore.
fn runs(kind: &str, restores: &[&[Item]]) -> (End, String, Vec<Warning>) {
    runs_with(kind, &[], restores)
}

/// The same with these warnings of the checkpoint.
fn runs_with(
    kind: &str,
    expected: &[Warning],
    restores: &[&[Item]],
) -> (End, String, Vec<Warning>) {
    let program = compile("ck_ties.c", &["-O1"]);
    let dir = format!("{}.{kind}", program.path.display());
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).expect("a directory");
    let (mut process, output) = program.launch_with(&[kind, &dir], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    assert!(next(&mut process).ended().is_none(), "{}", output.text());
    let pid = process.pid();
    let (snapshot, warnings) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    assert_eq!(warnings, expected);
    let mut end = run_out(&mut process, |_, _| {});
    assert_eq!((end, output.text().as_str()), (End::Exited(0), ""));
    let mut warnings = Vec::new();
    for without in restores {
        let restored = snapshot.restore_without(&mut process, None, without);
        warnings = restored.expect("restored").warnings;
        let same = !warnings.iter().any(|w| matches!(w, Warning::NewIds(_)));
        assert_eq!(process.pid() == pid, same);
        end = run_out(&mut process, |_, _| {});
    }
    let _ = fs::remove_dir_all(&dir);
    (end, output.text(), warnings)
}

/// Whether it can be set up at all here, without us.
fn can(kind: &str) -> bool {
    let program = compile("ck_ties.c", &["-O1"]);
    let alone = Command::new(&program.path).args([kind, "/"]).status();
    alone.expect("started").success()
}

fn comes_back(kind: &str) {
    let done = runs(kind, &[&[], &[]]);
    assert_eq!(done, (End::Exited(0), String::new(), Vec::new()));
}

fn is_missed(kind: &str, item: Item) {
    let (end, text, _) = runs(kind, &[&[item]]);
    assert_eq!(end, End::Exited(1), "{text}");
}

#[test]
fn locks_of_files_end_with_their_files() {
    comes_back("locks");
}

#[test]
fn locks_of_files_are_missed() {
    is_missed("locks", Item::Locks);
}

#[test]
fn locks_that_were_taken_later_are_free_again() {
    comes_back("later");
}

#[test]
fn locks_that_were_taken_later_are_missed() {
    is_missed("later", Item::Locks);
}

/// A program that is to be saved between its locks, in a directory of its own that is named so.
struct Between {
    _program: Program,
    process: Process,
    output: Output,
    directory: String,
}

impl Between {
    fn new(name: &str) -> Between {
        let program = compile("ck_ties.c", &["-O1"]);
        let directory = format!("{}.{name}", program.path.display());
        fs::create_dir(&directory).expect("a directory");
        let (mut process, output) = program.launch_with(&["between", &directory], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        Between {
            _program: program,
            process,
            output,
            directory,
        }
    }

    /// At its next place.
    fn next(&mut self) -> Snapshot {
        self.process.resume_all().expect("resumed");
        let stop = next(&mut self.process);
        assert!(stop.ended().is_none(), "{}", self.output.text());
        self.save()
    }

    fn save(&mut self) -> Snapshot {
        let saved = Snapshot::take(&mut self.process, &Options::default());
        saved.expect("saved").0
    }

    fn ends_well_from(&mut self, snapshot: &Snapshot) {
        let restored = snapshot.restore(&mut self.process, None).expect("restored");
        assert_eq!(restored.warnings, []);
        let end = run_out(&mut self.process, |_, _| {});
        assert_eq!((end, self.output.text().as_str()), (End::Exited(0), ""));
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// An earlier checkpoint shares the open file with which the lock was taken.
#[test]
fn a_lock_is_not_lost_to_an_earlier_checkpoint() {
    let mut program = Between::new("between");
    let (free, held) = (program.next(), program.next());
    for snapshot in [&held, &free, &held, &free] {
        program.ends_well_from(snapshot);
    }
}

/// Nor if another copy that shares it, too, was killed.
#[test]
fn a_lock_is_not_lost_to_any_earlier_checkpoint() {
    let mut program = Between::new("any");
    let free = program.next();
    let killed = program.save();
    let held = program.next();
    let pid = killed.frozen_pid();
    verde_sys::signals::send(pid, verde_sys::number::SIGKILL).expect("killed");
    until("it has closed its files", || {
        fs::read_dir(format!("/proc/{pid}/fd")).map_or(true, |list| list.count() == 0)
    });
    for snapshot in [&held, &free, &held] {
        program.ends_well_from(snapshot);
    }
}

/// Nor to one whose memory was on loan.
#[test]
fn a_lock_is_not_lost_to_a_checkpoint_that_was_copied() {
    let mut program = Between::new("lent");
    let (free, held) = (program.next(), program.next());
    for snapshot in [&free, &held] {
        snapshot.treat_as_large();
    }
    for snapshot in [&held, &free, &held, &free] {
        program.ends_well_from(snapshot);
    }
}

#[test]
fn a_locked_fifo_stays_the_same_open_file() {
    comes_back("fifo");
}

#[test]
fn a_locked_terminal_becomes_nobodys() {
    comes_back("terminal");
}

#[test]
fn memory_that_forks_leave_out_is_not_cleared_by_later_ones() {
    comes_back("excluded");
}

#[test]
fn memory_that_forks_clear_comes_back_wherever_it_is_used() {
    comes_back("cleared");
}

#[test]
fn waiting_for_signals_goes_on() {
    comes_back("signals");
}

#[test]
fn the_signals_that_are_read_come_back() {
    comes_back("chosen");
}

#[test]
fn the_signals_that_are_read_are_missed() {
    is_missed("chosen", Item::SignalSets);
}

#[test]
fn the_mode_of_a_file_without_a_name_comes_back() {
    comes_back("mode");
}

#[test]
fn the_mode_of_a_file_without_a_name_is_missed() {
    is_missed("mode", Item::Nameless);
}

#[test]
fn the_terminal_of_its_own_session_is_a_warning() {
    let (end, text, _) = runs_with("leads", &[Warning::OwnTerminal], &[&[]]);
    assert_eq!((end, text.as_str()), (End::Exited(0), "no terminal\n"));
}

#[test]
fn secret_memory_is_a_warning() {
    if !can("secret") {
        eprintln!("skipped: the kernel has no secret memory");
        return;
    }
    let (end, text, warnings) = runs_with("secret", &[Warning::SecretMemory], &[&[]]);
    assert_eq!((end, text.as_str()), (End::Exited(0), "changed\n"));
    assert_eq!(warnings, []);
}

#[test]
fn keyrings_are_a_warning() {
    if !can("keys") {
        eprintln!("skipped: the kernel has no keyrings");
        return;
    }
    let program = compile("ck_ties.c", &["-O1"]);
    for (kind, of_thread) in [("keys", false), ("thread_keys", true)] {
        let (mut process, output) = program.launch_with(&[kind, "/"], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        process.resume_all().expect("resumed");
        assert!(next(&mut process).ended().is_none(), "{}", output.text());
        let threads = process.threads();
        let owner = threads.iter().find(|t| (**t != process.pid()) == of_thread);
        let (snapshot, warnings) =
            Snapshot::take(&mut process, &Options::default()).expect("saved");
        assert_eq!(
            warnings,
            [Warning::Keyrings(owner.copied().into_iter().collect())]
        );
        snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
        assert_eq!(output.text(), "no key\n");
    }
}

/// The system's pool of huge pages has this many until it is dropped.
struct Pool;

impl Pool {
    const FILE: &str = "/proc/sys/vm/nr_hugepages";

    fn of(pages: u32) -> Option<Pool> {
        let before = fs::read_to_string(Pool::FILE).ok()?;
        // Somebody else's.
        if before.trim() != "0" {
            return None;
        }
        fs::write(Pool::FILE, pages.to_string()).ok()?;
        let pool = Pool;
        let now = fs::read_to_string(Pool::FILE).ok()?;
        (now.trim() == pages.to_string()).then_some(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = fs::write(Pool::FILE, "0");
    }
}

#[test]
fn huge_pages_that_are_too_few_are_a_warning() {
    let Some(_pool) = Pool::of(2) else {
        eprintln!("skipped: the pool of huge pages is somebody else's, or cannot be changed");
        return;
    };
    runs_with("huge", &[Warning::HugePages(4 << 20)], &[]);
}

#[test]
fn a_session_of_its_own_keeps_its_id() {
    comes_back("session");
}

#[test]
fn attributes_come_back() {
    comes_back("attributes");
}

#[test]
fn attributes_are_missed() {
    is_missed("attributes", Item::Attributes);
}

#[test]
fn threads_that_have_left_the_first_one_are_a_warning() {
    let program = compile("ck_ties.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&["apart", "/"], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    assert!(next(&mut process).ended().is_none(), "{}", output.text());
    let mut threads = process.threads();
    threads.retain(|tid| *tid != process.pid());
    assert_eq!(threads.len(), 3);
    let (_, warnings) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    let apart = warnings.iter().find_map(|w| match w {
        Warning::ThreadsApart(list) => Some(list.clone()),
        _ => None,
    });
    let mut apart = apart.expect("a warning");
    apart.sort();
    threads.sort();
    assert_eq!(apart, threads);
    process.kill().expect("killed");
}

#[test]
fn a_set_waits_for_files_under_numbers_that_they_had_once() {
    comes_back("renumbered");
}

#[test]
fn descriptors_of_the_process_itself_name_it_again() {
    comes_back("pidfds");
}

#[test]
fn descriptors_of_the_process_itself_are_missed() {
    is_missed("pidfds", Item::PidFds);
}

#[test]
fn files_that_tell_of_the_process_tell_of_the_restored_one() {
    comes_back("files");
}

#[test]
fn files_that_tell_of_the_process_are_missed() {
    let (end, text, warnings) = runs("files", &[&[Item::OwnFiles]]);
    assert_eq!(end, End::Exited(1), "{text}");
    let lost = |w: &Warning| matches!(w, Warning::LostFiles(list) if list[0].ends_with("/maps"));
    assert!(warnings.iter().any(lost), "{warnings:?}");
}

#[test]
fn signals_of_files_reach_the_restored_process() {
    comes_back("ready");
}

#[test]
fn signals_of_files_are_missed() {
    is_missed("ready", Item::Owners);
}

#[test]
fn whom_files_tell_comes_back_without_a_signal_asked_for() {
    comes_back("owners");
}

#[test]
fn whom_files_tell_is_missed() {
    is_missed("owners", Item::Owners);
}

#[test]
fn priorities_that_are_not_inherited_come_back() {
    comes_back("priorities");
}

#[test]
fn priorities_that_are_not_inherited_are_missed() {
    is_missed("priorities", Item::Scheduling);
}

#[test]
fn a_directory_is_read_on_from_where_it_was() {
    comes_back("directory");
}

#[test]
fn the_offset_of_a_directory_is_missed() {
    is_missed("directory", Item::Offsets);
}

#[test]
fn pipes_that_nobody_writes_to_any_more_come_back() {
    comes_back("ended");
}

#[test]
fn pipes_that_nobody_writes_to_any_more_are_missed() {
    is_missed("ended", Item::Pipes);
}

#[test]
fn pipes_come_back_where_no_descriptor_is_left() {
    comes_back("full");
}

/// We and who has started us have the same open file, so what waits for it does not leave the
/// set by itself. Started again with such an input.
#[test]
fn a_set_waits_for_our_own_input_once() {
    const AGAIN: &str = "VERDE_TEST_INPUT";
    if std::env::var_os(AGAIN).is_some() {
        let (end, text, _) = runs_with("input", &[Warning::Pipes(vec![0])], &[&[], &[]]);
        assert_eq!((end, text.as_str()), (End::Exited(0), ""));
        return;
    }
    let (input, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(b"data").expect("written");
    drop(writer);
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "a_set_waits_for_our_own_input_once"])
        .env(AGAIN, "1")
        .stdin(input)
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

/// Nobody else may know the limits of a program that has become another user, without a
/// privilege (CAP_SYS_RESOURCE) that root does not have everywhere.
#[test]
fn the_pipe_of_another_user_has_an_end() {
    let (end, text, _) = runs("user", &[&[], &[]]);
    assert_eq!((end, text.as_str()), (End::Exited(0), ""));
}

/// We may give a program more than it may take by itself (CAP_SYS_RESOURCE).
fn may_raise_limits() -> bool {
    let pid = verde_sys::signals::current_process();
    let all = verde_sys::procfs::status_field(pid, pid, "CapEff").expect("capabilities");
    u64::from_str_radix(&all, 16).expect("a number") & (1 << 24) != 0
}

/// As root, who may give more if privileged, and as a user who may not.
#[test]
fn pipes_come_back_where_no_more_descriptors_are_allowed() {
    let root = as_user("pipes_come_back_where_no_more_descriptors_are_allowed");
    let no_room: &[Warning] = match may_raise_limits() {
        true => &[],
        false => &[Warning::NoRoom {
            highest: 101,
            limit: 50,
        }],
    };
    // Few numbers are in use; one is above the limit.
    for warning in no_room {
        let text = warning.to_string();
        let said = "has a descriptor 101, and its limit (ulimit -n 50), which may not be raised";
        assert!(text.contains(said), "{text}");
    }
    for (kind, saved) in [("narrow", [].as_slice()), ("narrowest", no_room)] {
        let (end, text, warnings) = runs_with(kind, saved, &[&[], &[]]);
        assert_eq!((end, text.as_str()), (End::Exited(0), ""), "{kind}");
        assert_eq!(
            warnings.as_slice(),
            if root {
                [].as_slice()
            } else {
                &[Warning::NewIds(WhyNewIds::Ordinary)]
            }
        );
    }
}

#[test]
fn segments_of_system_v_come_back() {
    comes_back("segment");
}

#[test]
fn segments_of_system_v_are_missed() {
    is_missed("segment", Item::Shared);
}

#[test]
fn shared_memory_comes_back_though_it_is_read_only_for_now() {
    comes_back("closed");
}

#[test]
fn shared_memory_that_is_read_only_for_now_is_missed() {
    is_missed("closed", Item::Shared);
}

#[test]
fn shared_memory_comes_back_though_nobody_may_use_it_for_now() {
    comes_back("shut");
}

#[test]
fn shared_memory_that_nobody_may_use_for_now_is_missed() {
    is_missed("shut", Item::Shared);
}

#[test]
fn policies_of_memory_come_back() {
    comes_back("policies");
}

#[test]
fn policies_of_memory_are_missed() {
    is_missed("policies", Item::Attributes);
}

/// So there is no warning that it stays as it is.
#[test]
fn a_file_comes_back_if_all_of_it_is_mapped() {
    comes_back("mapped");
}

#[test]
fn a_mapped_file_that_was_cut_is_a_warning() {
    let (end, text, warnings) = runs("cut", &[&[]]);
    assert_eq!(end, End::Exited(0), "{text}");
    let cut = |w: &Warning| matches!(w, Warning::CutFiles(list) if list[0].ends_with("/cut"));
    assert!(warnings.iter().any(cut), "{warnings:?}");
}

#[test]
fn leases_come_back() {
    comes_back("leases");
}

#[test]
fn leases_are_missed() {
    is_missed("leases", Item::Leases);
}

#[test]
fn seals_that_were_put_on_since_are_a_warning() {
    let (end, text, warnings) = runs("seals", &[&[]]);
    // It cannot write what it would.
    assert_eq!(end, End::Exited(1), "{text}");
    let named = |list: &[String], name: &str| list.len() == 1 && list[0].contains(name);
    let other = |w: &Warning| matches!(w, Warning::Sealed(list) if named(list, "memfd:other"));
    let stuck =
        |w: &Warning| matches!(w, Warning::SealedContents(list) if named(list, "memfd:seals"));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().any(other) && warnings.iter().any(stuck));
}

#[test]
fn urgent_data_are_a_warning() {
    let (end, text, _) = runs_with("urgent", &[Warning::UrgentData(vec![4])], &[&[]]);
    assert_eq!((end, text.as_str()), (End::Exited(0), "-1 \0 abcdefghi\n"));
}

#[test]
fn expirations_that_a_signal_stands_for_are_a_warning() {
    let (end, text, _) = runs_with("overruns", &[Warning::Overruns(vec![0])], &[&[]]);
    assert_eq!((end, text.as_str()), (End::Exited(0), ""));
}
