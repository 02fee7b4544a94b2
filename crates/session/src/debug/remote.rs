//! A debugger in a process of its own, for programs that are attached to.
//!
//! The user sees, and may kill, one process; the other holds the program. When
//! the first is gone, the second lets the program go as it was. Commands and
//! answers pass between them as frames: a length, a tag, a text. What commands
//! have to say is written by the second to the output they share.

use super::complete::Completer;
use super::failure::{Failure, Result};
use super::{Debugger, Interrupts, Reply};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;
use verde_sys::guardian::{Side, split};

/// Frames are commands and their answers; none is longer.
const LONGEST: usize = 16 << 20;

/// How often those who watch are served while no command comes.
const BOARD: Duration = Duration::from_millis(10);

/// What the visible process asks for, and what it is told.
mod tag {
    pub const EXECUTE: u8 = b'E';
    pub const SOURCE: u8 = b'S';
    pub const COMPLETE: u8 = b'C';
    pub const QUESTION: u8 = b'?';
    pub const INTERRUPT: u8 = b'I';
    pub const GIVE_UP: u8 = b'G';
    pub const NEXT: u8 = b'N';
    pub const AGAIN: u8 = b'A';
    pub const QUIT: u8 = b'Q';
    pub const FAILED: u8 = b'F';
}

struct Frame {
    tag: u8,
    text: String,
}

fn send(mut to: &UnixStream, tag: u8, text: &str) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(text.len() + 5);
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.push(tag);
    bytes.extend(text.as_bytes());
    to.write_all(&bytes)
}

/// The next frame; `None` when the other side is gone.
fn receive(mut from: &UnixStream) -> Option<Frame> {
    let mut head = [0; 5];
    from.read_exact(&mut head).ok()?;
    let [a, b, c, d, tag] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > LONGEST {
        return None;
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(Frame { tag, text })
}

/// The visible process's end.
pub struct Remote {
    channel: UnixStream,
    prompt: String,
    /// A command is being run.
    busy: Arc<AtomicBool>,
}

/// Stops the program of a [`Remote`] from another thread.
pub struct RemoteInterrupt {
    channel: UnixStream,
    busy: Arc<AtomicBool>,
}

impl RemoteInterrupt {
    /// As ^C does; nothing while no command is being run.
    pub fn interrupt(&self) {
        if self.busy.load(Ordering::SeqCst) {
            // A session that is gone has nothing to stop.
            let _ = send(&self.channel, tag::INTERRUPT, "");
        }
    }
}

/// Attaches to a process from a process of its own. `prepare` runs there, with
/// the program stopped. Must be called while this process has one thread.
pub fn attach(pid: i32, prepare: impl FnOnce(&mut Debugger) -> Result<()>) -> Result<Remote> {
    match split().map_err(|e| Failure(e.to_string()))? {
        Side::Visible { channel, .. } => {
            let mut remote = Remote {
                channel,
                prompt: String::new(),
                busy: Arc::default(),
            };
            remote.answer()?;
            Ok(remote)
        }
        Side::Session { channel } => {
            serve(pid, channel, prepare);
            std::process::exit(0)
        }
    }
}

impl Remote {
    /// Runs one command line.
    pub fn execute(&mut self, line: &str) -> Result<Reply> {
        self.ask(tag::EXECUTE, line)
    }

    /// Runs the commands of a file.
    pub fn source(&mut self, path: &Path) -> Result<Reply> {
        self.ask(tag::SOURCE, &path.to_string_lossy())
    }

    /// The user has given up what was being typed.
    pub fn give_up_typed(&mut self) -> Result<Reply> {
        self.ask(tag::GIVE_UP, "")
    }

    /// What to show before a line is read.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Where the last word of a line begins, and what it may become.
    pub fn complete(&mut self, line: &str) -> (usize, Vec<String>) {
        let none = (line.len(), Vec::new());
        if send(&self.channel, tag::COMPLETE, line).is_err() {
            return none;
        }
        let Some(frame) = receive(&self.channel) else {
            return none;
        };
        let mut words = frame.text.lines();
        let start = words.next().and_then(|n| n.parse().ok());
        match start {
            Some(start) if start <= line.len() => (start, words.map(str::to_owned).collect()),
            _ => none,
        }
    }

    /// What to ask before a line is run.
    pub fn question(&mut self, line: &str) -> Option<String> {
        send(&self.channel, tag::QUESTION, line).ok()?;
        let text = receive(&self.channel)?.text;
        (!text.is_empty()).then_some(text)
    }

    /// A way to stop the program while a command runs.
    pub fn interrupt(&self) -> io::Result<RemoteInterrupt> {
        Ok(RemoteInterrupt {
            channel: self.channel.try_clone()?,
            busy: self.busy.clone(),
        })
    }

    /// Ends the session and waits until the program was let go.
    pub fn end(self) {
        if self.channel.shutdown(std::net::Shutdown::Write).is_ok() {
            while receive(&self.channel).is_some() {}
        }
    }

    fn ask(&mut self, tag: u8, text: &str) -> Result<Reply> {
        send(&self.channel, tag, text)?;
        self.busy.store(true, Ordering::SeqCst);
        let answer = self.answer();
        self.busy.store(false, Ordering::SeqCst);
        answer
    }

    fn answer(&mut self) -> Result<Reply> {
        let gone = || Failure("The debugger's session has ended.".to_owned());
        let frame = receive(&self.channel).ok_or_else(gone)?;
        let (prompt, text) = frame.text.split_once('\n').ok_or_else(gone)?;
        self.prompt = prompt.to_owned();
        match frame.tag {
            tag::NEXT => Ok(Reply::Next(None)),
            tag::AGAIN => Ok(Reply::Next(Some(text.to_owned()))),
            tag::QUIT => Ok(Reply::Quit),
            _ => Err(Failure(text.to_owned())),
        }
    }
}

/// The other end: holds the program until the visible process is gone.
fn serve(pid: i32, channel: UnixStream, prepare: impl FnOnce(&mut Debugger) -> Result<()>) {
    let out = Box::new(io::stdout());
    let debugger = Debugger::attach(pid, out).and_then(|mut debugger| {
        prepare(&mut debugger)?;
        Ok(debugger)
    });
    let mut debugger = match debugger {
        Ok(debugger) => debugger,
        Err(e) => {
            // Nobody to tell if the visible process is gone.
            let _ = send(&channel, tag::FAILED, &format!("\n{e}"));
            return;
        }
    };
    let (frames, commands) = channel_of(&channel, debugger.interrupts());
    let mut done = answer(&channel, &debugger, Ok(Reply::Next(None)));
    while done.is_ok() {
        let frame = match debugger.is_watched() {
            true => commands.recv_timeout(BOARD),
            false => commands.recv().map_err(RecvTimeoutError::from),
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) => {
                debugger.serve_board();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        done = match frame.tag {
            tag::COMPLETE => send(
                &channel,
                tag::NEXT,
                &completions(&debugger.completer(), &frame.text),
            ),
            tag::QUESTION => {
                let question = debugger.question(&frame.text).unwrap_or_default();
                send(&channel, tag::NEXT, &question)
            }
            tag::GIVE_UP => {
                debugger.give_up_typed();
                answer(&channel, &debugger, Ok(Reply::Next(None)))
            }
            tag::SOURCE => {
                let reply = debugger.source(Path::new(&frame.text));
                answer(&channel, &debugger, reply)
            }
            _ => {
                let reply = debugger.execute(&frame.text);
                debugger.show_on_board();
                answer(&channel, &debugger, reply)
            }
        };
    }
    drop(frames);
    // The program goes on whether or not anybody hears of it.
    let _ = debugger.end();
}

fn completions(completer: &Completer, line: &str) -> String {
    let (start, words) = completer.complete(line);
    let mut text = start.to_string();
    for word in words {
        text.push('\n');
        text.push_str(&word);
    }
    text
}

fn answer(channel: &UnixStream, debugger: &Debugger, reply: Result<Reply>) -> io::Result<()> {
    let (tag, text) = match reply {
        Ok(Reply::Next(None)) => (tag::NEXT, String::new()),
        Ok(Reply::Next(Some(again))) => (tag::AGAIN, again),
        Ok(Reply::Quit) => (tag::QUIT, String::new()),
        Err(e) => (tag::FAILED, e.to_string()),
    };
    send(channel, tag, &format!("{}\n{text}", debugger.prompt()))
}

/// Reads frames on a thread of their own, so that the visible process can
/// interrupt a command, or be gone, while it runs.
fn channel_of(channel: &UnixStream, interrupts: Interrupts) -> (Sender<()>, Receiver<Frame>) {
    let (frames, commands) = mpsc::channel();
    let (alive, ended) = mpsc::channel::<()>();
    let Ok(listener) = channel.try_clone() else {
        return (alive, commands);
    };
    std::thread::spawn(move || {
        while let Some(frame) = receive(&listener) {
            if frame.tag == tag::INTERRUPT {
                interrupts.interrupt();
            } else if frames.send(frame).is_err() {
                return;
            }
        }
        drop(frames);
        // Whatever runs is stopped, also what a list of commands lets go on.
        while ended.try_recv() == Err(TryRecvError::Empty) {
            interrupts.interrupt();
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    (alive, commands)
}
