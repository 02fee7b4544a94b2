//! How many places of an event lack a parameter, for the note that says so.

use super::alphabet::Source;
use super::bind::Note;
use super::reads::{How, Read};
use super::remains::Why;
use verde_property::ParamSpec;

/// What the optimiser has left nothing of, or not all.
#[derive(Default)]
pub struct Gone {
    /// Functions of which a part is apart from the beginning, which callers have in themselves.
    pub parts: usize,
    /// Parameters, what became of each, and in how many places.
    parameters: Vec<(String, Loss, usize)>,
}

/// What became of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    Whole(Why),
    Part,
    ByCaller,
}

impl Loss {
    fn of(how: &How) -> Option<Loss> {
        match how {
            How::Removed(why) => Some(Loss::Whole(*why)),
            How::InPart(..) => Some(Loss::Part),
            How::ByCaller(..) => Some(Loss::ByCaller),
            _ => None,
        }
    }

    /// `where_`: `in 1 of 2 functions`.
    fn text(self, parameter: &str, where_: &str) -> String {
        let (is, because, then) = match self {
            Loss::Whole(Why::Removed) => ("was optimised away", "", "it is None there"),
            Loss::Whole(Why::Convention) => (
                "cannot be read",
                " (the file does not tell whether vectors are in registers)",
                "it is None there",
            ),
            Loss::Whole(Why::Unreadable) => (
                "cannot be read",
                " (it is in a register that is not read)",
                "it is None there",
            ),
            Loss::Whole(Why::NoAddress) => (
                "has no address",
                " (what it is of is in registers)",
                "it is None there",
            ),
            Loss::Whole(Why::Entry) => ("is not known inside the function", "", "it is None there"),
            Loss::Part => (
                "was optimised away in part",
                "",
                "what is missing is None there",
            ),
            Loss::ByCaller => (
                "was optimised away",
                "",
                "it is what the caller's code tells there, else None",
            ),
        };
        format!("`{parameter}` {is} {where_}{because}: {then}")
    }
}

impl Gone {
    pub fn count(&mut self, params: &[ParamSpec], reads: &[Read]) {
        let all = params.iter().zip(reads);
        for (param, read) in all {
            let Some(loss) = Loss::of(&read.how) else {
                continue;
            };
            let same = |g: &&mut (String, Loss, usize)| g.0 == param.text && g.1 == loss;
            match self.parameters.iter_mut().find(same) {
                Some((.., count)) => *count += 1,
                None => self.parameters.push((param.text.clone(), loss, 1)),
            }
        }
    }

    /// `places`: how many there are, and what each is.
    pub fn note(&self, source: &Source, (places, what): (usize, &str), notes: &mut Vec<Note>) {
        let title = source.title();
        let mut say = |text: String| {
            notes.push(Note {
                text: format!("event {title}: {text}"),
                is_error: false,
            });
        };
        let s = if places == 1 { "" } else { "s" };
        for (parameter, loss, count) in &self.parameters {
            say(loss.text(parameter, &format!("in {count} of {places} {what}{s}")));
        }
        if self.parts > 0 {
            say("the compiler split it: where its beginning is inlined, calls of the rest are not observed".to_owned());
        }
    }
}
