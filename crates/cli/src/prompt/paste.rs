//! Text pasted into the terminal: every line of it is a command, as if it had
//! been typed. The terminal says where a paste begins and ends.

use rustyline::history::History;
use rustyline::{
    Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers, RepeatCount,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Pasted keys come without a pause. After one, the end of the paste went to
/// the program, which was started by a line of it.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Typing,
    /// Since the paste, or a line of it, began.
    Pasting(Instant),
    /// Nothing was entered since.
    Pasted,
}

/// What the line editor knows of pastes.
#[derive(Clone)]
pub(super) struct Pastes(Arc<Mutex<State>>);

impl Pastes {
    /// Learns of the pastes of an editor.
    pub fn of<H: Helper, I: History>(editor: &mut Editor<H, I>) -> Pastes {
        let pastes = Pastes(Arc::new(Mutex::new(State::Typing)));
        let mut bind = |code, what| {
            let (pastes, key) = (pastes.clone(), KeyEvent(code, Modifiers::NONE));
            let handler = EventHandler::Conditional(Box::new(Key { pastes, what }));
            editor.bind_sequence(Event::from(key), handler);
        };
        bind(KeyCode::BracketedPasteStart, What::Begin);
        bind(KeyCode::BracketedPasteEnd, What::End);
        bind(KeyCode::Tab, What::Tab);
        pastes
    }

    fn change<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        // A state is whole whoever left it.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A line is about to be read.
    pub fn next_line(&self) {
        self.change(|state| {
            if let State::Pasting(since) = state {
                *since = Instant::now();
            }
        });
    }

    /// A line was entered. `false`: it is empty and of a paste, or the key that
    /// people press after one; nobody meant to repeat the command before.
    pub fn entered(&self, line: &str) -> bool {
        let before = self.change(|state| match *state {
            State::Pasting(since) if since.elapsed() < PAUSE => *state,
            _ => std::mem::replace(state, State::Typing),
        });
        before == State::Typing || !line.trim().is_empty()
    }

    /// The line was given up, with what was typed ahead.
    pub fn dropped(&self) {
        self.change(|state| *state = State::Typing);
    }
}

enum What {
    Begin,
    End,
    Tab,
}

struct Key {
    pastes: Pastes,
    what: What,
}

impl ConditionalEventHandler for Key {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.pastes.change(|state| match self.what {
            What::Begin => {
                *state = State::Pasting(Instant::now());
                Some(Cmd::Noop)
            }
            What::End => {
                *state = State::Pasted;
                Some(Cmd::Noop)
            }
            What::Tab => match state {
                State::Pasting(since) if since.elapsed() < PAUSE => {
                    Some(Cmd::Insert(1, " ".to_owned()))
                }
                _ => None,
            },
        })
    }
}
