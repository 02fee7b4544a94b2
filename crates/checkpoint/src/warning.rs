//! What a checkpoint does not hold.

use std::fmt;
use std::os::fd::RawFd;
use std::path::PathBuf;
use verde_engine::Tid;

/// Something that will not be, or was not, as it was. One line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Threads have other ids than they had.
    NewIds(WhyNewIds),
    /// A trap was set in something that did not exist then.
    LostTraps(usize),
    /// Sockets that are not pairs within the program.
    Sockets(Vec<RawFd>),
    /// Sockets through which descriptors were on their way.
    TravellingDescriptors(Vec<RawFd>),
    /// Sockets with urgent data.
    UrgentData(Vec<RawFd>),
    /// Timers of which a signal waits that may stand for several expirations.
    Overruns(Vec<i32>),
    /// Pipes with data of others.
    Pipes(Vec<RawFd>),
    /// Pipes and socket pairs that other processes have from the program, and of which the
    /// checkpoint keeps an end.
    OfChildren(Vec<RawFd>),
    /// Descriptors of kinds that nobody here knows, with their names.
    Others(Vec<(RawFd, String)>),
    /// Message queues.
    Queues(Vec<RawFd>),
    /// Message queues of System V, by id.
    SystemVQueues(Vec<i32>),
    /// Sets of semaphores of System V, by id.
    SystemVSemaphores(Vec<i32>),
    /// The program may have no descriptors above those that it has.
    NoRoom {
        /// The highest that it has.
        highest: u64,
        /// How many it may have.
        limit: u64,
    },
    /// Watches for changes of files.
    Inotify,
    /// Terminals of the program with unread data.
    Terminals(Vec<RawFd>),
    /// The terminal of a session that the program leads.
    OwnTerminal,
    /// Memory that nobody but the program can read.
    SecretMemory,
    /// Threads with keyrings; the first one for that of the process, too.
    Keyrings(Vec<Tid>),
    /// Processes that the program has started.
    Children(Vec<Tid>),
    /// Processes that the present program, which is gone, has left.
    Orphans(Vec<Tid>),
    /// Record locks, which end with the process.
    RecordLocks,
    /// Files whose locks somebody else has now.
    LostLocks(Vec<String>),
    /// Files whose leases could not be taken again.
    LostLeases(Vec<String>),
    /// Files that were sealed since.
    Sealed(Vec<String>),
    /// Files that were sealed since, so that their contents cannot come back.
    SealedContents(Vec<String>),
    /// Bytes of huge pages of which the system has too few for a copy.
    HugePages(u64),
    /// Bytes of shared memory beyond what a checkpoint keeps.
    SharedMemory(u64),
    /// Files that were written since.
    ChangedFiles(Vec<String>),
    /// Files in shared memory that are shorter than they were.
    CutFiles(Vec<String>),
    /// Files that could not be set back to where they were read or written.
    LostOffsets(Vec<String>),
    /// Open files of then that could not be opened again.
    LostFiles(Vec<String>),
    /// Processes that go on writing where nobody looks any more.
    StillWriting(Vec<Tid>, PathBuf),
    /// Threads with users, groups, capabilities, a working directory or descriptors of their own.
    ThreadsApart(Vec<Tid>),
    /// The scheduling or affinity of a thread was refused.
    Scheduling,
}

/// Why threads could not get the ids that they had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNewIds {
    /// An ordinary user may not choose ids.
    Ordinary,
    /// The program might have chosen them, and has given up the rights that it takes.
    GivenUp,
    /// Others have them.
    Taken,
}

impl fmt::Display for WhyNewIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhyNewIds::Ordinary => "keeping them needs root or --namespace",
            WhyNewIds::GivenUp => "the program has given up the rights that keeping them needs",
            WhyNewIds::Taken => "other processes have taken some of them since",
        })
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NewIds(why) => write!(
                f,
                "process and thread ids have changed ({why}): mutexes held now of the \
                 recursive, errorcheck, robust and priority-inheriting kinds, and rwlocks held for writing, cannot be unlocked",
            ),
            Warning::LostTraps(count) => write!(
                f,
                "{count} breakpoint locations or watchpoints do not exist in the restored program"
            ),
            Warning::Sockets(list) => write!(
                f,
                "sockets other than pairs within the program (socketpair) do not come back \
                 (descriptors {}): what is sent and received after the checkpoint stays so",
                join(list)
            ),
            Warning::TravellingDescriptors(list) => write!(
                f,
                "descriptors on their way through a socket (SCM_RIGHTS) are not part of the \
                 checkpoint: after a restart the data come without them (descriptors {})",
                join(list)
            ),
            Warning::UrgentData(list) => write!(
                f,
                "urgent data in sockets (MSG_OOB) come as ordinary ones after a restart \
                 (descriptors {})",
                join(list)
            ),
            Warning::Overruns(list) => write!(
                f,
                "a waiting signal of a periodic timer stands for one expiration after a restart, \
                 whatever timer_getoverrun would have said (timers {})",
                join(list)
            ),
            Warning::Pipes(list) => write!(
                f,
                "pipes that others write to do not come back (descriptors {}): what is read \
                 after the checkpoint is gone",
                join(list)
            ),
            Warning::OfChildren(list) => write!(
                f,
                "pipes and sockets that other processes have, too, stay open in the checkpoint \
                 (descriptors {}): who waits for the end of one waits until the checkpoint is deleted",
                join(list)
            ),
            Warning::Others(list) => {
                let list: Vec<String> =
                    list.iter().map(|(n, name)| format!("{n} {name}")).collect();
                write!(
                    f,
                    "what is behind these descriptors is not part of the checkpoint, and may not \
                     work after a restart: {}",
                    list.join(", ")
                )
            }
            Warning::Queues(list) => write!(
                f,
                "message queues are not part of the checkpoint: what is in them stays so \
                 (descriptors {})",
                join(list)
            ),
            Warning::SystemVQueues(list) => write!(
                f,
                "message queues of System V are not part of the checkpoint: what is in them \
                 stays so (msqid {})",
                join(list)
            ),
            Warning::SystemVSemaphores(list) => write!(
                f,
                "semaphores of System V are not part of the checkpoint: they stay as they are \
                 (semid {})",
                join(list)
            ),
            Warning::NoRoom { highest, limit } => write!(
                f,
                "the program has a descriptor {highest}, and its limit (ulimit -n {limit}), which may \
                 not be raised, leaves no room above it: the checkpoint keeps its pipes and sockets \
                 open, so that whoever waits for their end waits on, and what names the program \
                 itself (pidfds, files in /proc) is of no use after a restart",
            ),
            Warning::Inotify => f.write_str(
                "watches of inotify and their events are not part of the checkpoint: they stay \
                 as they are",
            ),
            Warning::Terminals(list) => write!(
                f,
                "data in the program's own pseudo terminals are not part of the checkpoint \
                 (descriptors {})",
                join(list)
            ),
            Warning::OwnTerminal => f.write_str(
                "the program leads a session with a terminal of its own, which hangs up at a \
                 restart: it has no controlling terminal then",
            ),
            Warning::SecretMemory => f.write_str(
                "secret memory (memfd_secret) is not part of the checkpoint: it stays as it is",
            ),
            Warning::Keyrings(list) => write!(
                f,
                "keyrings of the process and of threads are not part of the checkpoint: they are \
                 empty after a restart (threads {})",
                join(list)
            ),
            Warning::Children(list) => write!(
                f,
                "child processes are not part of the checkpoint: {}",
                join(list)
            ),
            Warning::Orphans(list) => write!(
                f,
                "child processes of the present go on without their parent: {}",
                join(list)
            ),
            Warning::RecordLocks => {
                f.write_str("record locks (fcntl) of the program are lost by a restore")
            }
            Warning::LostLocks(list) => write!(
                f,
                "locks that the program had are not its own any more, for somebody else has \
                 taken them: {}",
                list.join(", ")
            ),
            Warning::LostLeases(list) => write!(
                f,
                "leases of files (F_SETLEASE) could not be taken again as they were: {}",
                list.join(", ")
            ),
            Warning::Sealed(list) => write!(
                f,
                "seals put on files since the checkpoint (F_ADD_SEALS) stay on them: {}",
                list.join(", ")
            ),
            Warning::SealedContents(list) => write!(
                f,
                "files sealed since the checkpoint (F_ADD_SEALS) stay sealed, with the contents \
                 of now: {}",
                list.join(", ")
            ),
            Warning::HugePages(bytes) => write!(
                f,
                "{} MB of huge pages (MAP_HUGETLB) are more than the system has left: what the \
                 program writes there from now on may be taken from the checkpoint, and a \
                 restarted program get SIGBUS",
                bytes >> 20
            ),
            Warning::SharedMemory(bytes) => write!(
                f,
                "{} MB of shared memory are too much to keep: they stay as they are",
                bytes >> 20
            ),
            Warning::ChangedFiles(list) => write!(
                f,
                "files written since the checkpoint stay as they are (--fs-snapshot=DIR brings \
                 those of a directory back): {}",
                list.join(", ")
            ),
            Warning::CutFiles(list) => write!(
                f,
                "files in shared memory that were cut since the checkpoint stay as they are: {}",
                list.join(", ")
            ),
            Warning::LostOffsets(list) => write!(
                f,
                "files that could not be set back to where they were read or written: {}",
                list.join(", ")
            ),
            Warning::LostFiles(list) => write!(
                f,
                "files that were open could not be opened again: {}",
                list.join(", ")
            ),
            Warning::StillWriting(list, home) => write!(
                f,
                "processes that the program has started go on ({}): what they write to its \
                 directories from now on is kept in {}",
                join(list),
                home.display()
            ),
            Warning::ThreadsApart(list) => write!(
                f,
                "threads with user ids, capabilities, no_new_privs, a working directory or descriptors of \
                 their own have those of the first thread after a restart: {}",
                join(list)
            ),
            Warning::Scheduling => {
                f.write_str("the CPU affinity or priority of some threads was not restored")
            }
        }
    }
}

fn join(list: &[impl ToString]) -> String {
    let words: Vec<String> = list.iter().map(ToString::to_string).collect();
    words.join(", ")
}
