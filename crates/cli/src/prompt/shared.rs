//! A prompt that shares its session with a page: lines come from the terminal
//! on a thread of its own, and from the page.

use super::reader::{Reader, Typed};
use super::{Flow, Prompt, complain};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use verde_session::board::{Answer, Board, Request};
use verde_session::debug::{Completer, LIST_PROMPT, Order, Reply, Turn};

/// What completes at the moment.
type Shared = Arc<Mutex<Completer>>;

fn set(completer: &Shared, now: Completer) {
    *completer.lock().unwrap_or_else(PoisonError::into_inner) = now;
}

impl Prompt {
    /// Runs lines of both until one of them ends the session.
    pub(super) fn share(&mut self) {
        let Some(debugger) = self.debugger.watched() else {
            return;
        };
        let board = debugger.open_board();
        let completer = Arc::new(Mutex::new(debugger.completer()));
        let prompt = debugger.prompt().to_owned();
        let reading = std::thread::Builder::new().name("verde-prompt".into());
        let reader = completer.clone();
        if let Err(e) = reading.spawn(move || read(reader, &board, prompt)) {
            return complain(&e.to_string());
        }
        while let Some(Turn::Line(order)) = self.debugger.watched().map(|d| d.next_turn()) {
            let flow = match order.shared {
                true => self.line_of_page(order, &completer),
                false => self.line_of_terminal(order, &completer),
            };
            if let Flow::Quit = flow {
                return;
            }
        }
    }

    fn line_of_terminal(&mut self, order: Order, completer: &Shared) -> Flow {
        let line = match (order.line.trim(), &self.again) {
            ("", Some(again)) => again.clone(),
            _ => order.line.clone(),
        };
        let flow = self.line(&line);
        let over = matches!(flow, Flow::Quit);
        self.complete_as_now(completer);
        order.done(String::new(), &self.debugger.prompt(), over);
        flow
    }

    /// Names may be others after a line: the program stands elsewhere, or was built again.
    fn complete_as_now(&mut self, completer: &Shared) {
        if let Some(debugger) = self.debugger.watched() {
            set(completer, debugger.completer());
        }
    }

    /// The terminal sees what the page does, and gets its prompt again.
    fn line_of_page(&mut self, order: Order, completer: &Shared) -> Flow {
        say(&format!("{}\n", order.line));
        let Some(debugger) = self.debugger.watched() else {
            return Flow::Quit;
        };
        let (text, ran) = debugger.execute_shared(&order.line);
        set(completer, debugger.completer());
        let prompt = debugger.prompt();
        let flow = match ran {
            Ok(Reply::Quit) => {
                order.done(text, prompt, true);
                return Flow::Quit;
            }
            Ok(Reply::Next(again)) => {
                self.again = again;
                order.done(text, prompt, false);
                Flow::Next
            }
            Err(e) => {
                complain(&e.to_string());
                order.failed(e.to_string());
                Flow::Next
            }
        };
        say(prompt);
        flow
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    // A closed terminal ends the session by its reader.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Hands lines to the session, one at a time.
fn read(completer: Shared, board: &Board, mut prompt: String) {
    let complete = move |line: &str| {
        let now = completer.lock().unwrap_or_else(PoisonError::into_inner);
        now.complete(line)
    };
    let mut reader = match Reader::open(Box::new(complete)) {
        Ok(reader) => reader,
        Err(e) => return complain(&e.to_string()),
    };
    loop {
        let request = match reader.next(&prompt) {
            Typed::Line(line) => Request::Line {
                line,
                shared: false,
            },
            Typed::GivenUp => {
                if prompt == LIST_PROMPT {
                    complain("Quit");
                }
                // A program that the page has let go.
                board.interrupt();
                Request::GiveUp
            }
            Typed::End => break,
        };
        match board.ask(request).recv() {
            Ok(Answer::Done { over: true, .. }) | Err(_) => return,
            Ok(Answer::Done { prompt: next, .. }) => prompt = next,
            Ok(Answer::Failed { error }) => complain(&error),
            Ok(_) => {}
        }
    }
    // The answer does not matter: nobody types any more. A program that the page let go is
    // interrupted first, or the end would wait for it.
    board.interrupt();
    while matches!(board.ask(Request::Quit).recv(), Ok(Answer::Failed { .. })) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
