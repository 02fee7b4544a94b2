//! By whose convention a function is called.
//!
//! DWARF does not tell which functions of Rust are `extern "C"`. Those that are to be called from
//! C have names that C can write. Of others unoptimised code tells it, which copies its arguments
//! to its frame first; optimised code has lists of where they are, and needs no convention.

use crate::Module;
use crate::abi::{AbiPlace, argument_places, argument_places_behind, is_returned_in_memory};
use crate::functions::Function;
use crate::location::Env;
use crate::prologue::Thread;
use crate::units::Language;
use crate::variables::Variable;

/// The bytes of longer arguments that are looked at.
const MOST: u64 = 64;
const CODE: usize = 256;

impl Module {
    /// The language by whose convention a function is called.
    pub fn convention(&self, function: &Function) -> Language {
        let is_mangled = |name: &String| name.starts_with("_ZN") || name.starts_with("_R");
        match function.language {
            Language::Rust if !function.linkage_name.as_ref().is_some_and(is_mangled) => {
                Language::C
            }
            Language::Rust if !is_closure(function) && self.copies_as_c(function) => Language::C,
            language => language,
        }
    }

    /// It takes arguments from where C puts them, and Rust would not.
    fn copies_as_c(&self, function: &Function) -> bool {
        let Some(die) = function.die else {
            return false;
        };
        let parameters = self.parameters(die);
        let places = |language| {
            let result = self.return_type(function);
            let by_address = result.is_some_and(|t| is_returned_in_memory(&t, language));
            let types: Vec<_> = parameters.iter().map(|v| v.ty.clone()).collect();
            argument_places(&types, language, by_address)
        };
        let (rust, c) = (places(Language::Rust), places(Language::C));
        if rust == c {
            return false;
        }
        let Some(code) = self.bytes_at(function.entry, CODE) else {
            return false;
        };
        let entered = Thread::at(function.entry);
        let copied = entered.clone().run(code);
        let mut is_c = false;
        for (variable, (rust, c)) in parameters.iter().zip(rust.iter().zip(&c)) {
            match fitting(variable, (&entered, &copied), [rust, c]) {
                Some(0) => return false,
                Some(_) => is_c = true,
                None => {}
            }
        }
        is_c
    }

    /// The registers, integer and vector ones, in which a closure's environment is passed before
    /// the `parameters` that the debug information lists.
    ///
    /// It lists the environment only where the body uses nothing of it. It is passed by its
    /// address, and to one that is called once as its type is, which nobody names: that is told by
    /// where the code copies the others from.
    pub(crate) fn environment(
        &self,
        function: &Function,
        parameters: &[Variable],
        by_address: bool,
    ) -> (usize, u16) {
        let Some(first) = parameters.first().filter(|_| is_closure(function)) else {
            return (0, 0);
        };
        // Where no parameter tells it, what is most likely.
        let mut likeliest = [(1, 0), (0, 0), (2, 0), (0, 1), (1, 1), (0, 2)];
        if first.name.is_empty() {
            likeliest.swap(0, 1);
        }
        let Some(code) = self.bytes_at(function.entry, CODE) else {
            return likeliest[0];
        };
        let entered = Thread::at(function.entry);
        let copied = entered.clone().run(code);
        let types: Vec<_> = parameters.iter().map(|v| v.ty.clone()).collect();
        let fitting = |&(integers, floats): &(usize, u16)| {
            let used = (integers + usize::from(by_address), floats);
            let places = argument_places_behind(&types, Language::Rust, used);
            let all = parameters.iter().zip(&places);
            all.filter(|(v, place)| is_copied_from(v, (&entered, &copied), place).unwrap_or(false))
                .count()
        };
        // Reversed, for of several that fit as well the last would be taken.
        let best = likeliest.iter().rev().max_by_key(|used| fitting(used));
        best.copied().unwrap_or(likeliest[0])
    }
}

fn is_closure(function: &Function) -> bool {
    // Behind a closure's own name are at most the types that its function is generic over.
    let number = function.name.rsplit_once("{closure#").map(|(_, n)| n);
    let rest = number.and_then(|n| Some(n.split_once('}')?.1));
    function.language == Language::Rust
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('<'))
}

/// Whether a parameter is kept with the bytes that were in a place at the entry.
fn is_copied_from(
    variable: &Variable,
    (entered, copied): (&Thread, &Thread),
    place: &Option<AbiPlace>,
) -> Option<bool> {
    let size = variable.ty.size()?.min(MOST) as usize;
    let kept = variable.place(&env(copied), Some(copied.pc)).ok()?;
    let kept = kept.read(&env(copied), size).ok()?;
    let place = place.as_ref()?.locate(&env(entered)).ok()?;
    let passed = place.read(&env(entered), size).ok()?;
    Some(size > 0 && kept == passed)
}

/// Which of two places an argument was copied from to where it is kept; `None` when that cannot be
/// told.
fn fitting(
    variable: &Variable,
    (entered, copied): (&Thread, &Thread),
    places: [&Option<AbiPlace>; 2],
) -> Option<usize> {
    let size = variable.ty.size()?.min(MOST) as usize;
    let kept = variable.place(&env(copied), Some(copied.pc)).ok()?;
    let kept = kept.read(&env(copied), size).ok()?;
    let passed = |place: &Option<AbiPlace>| {
        let place = place.as_ref()?.locate(&env(entered)).ok()?;
        place.read(&env(entered), size).ok()
    };
    let [one, other] = places.map(passed);
    let (one, other) = (one?, other?);
    let differing = || (0..size).filter(|i| one[*i] != other[*i]);
    let fits = |bytes: &[u8]| differing().all(|i| kept[i] == bytes[i]);
    differing().next()?;
    match (fits(&one), fits(&other)) {
        (true, false) => Some(0),
        (false, true) => Some(1),
        _ => None,
    }
}

fn env(thread: &Thread) -> Env<'_> {
    Env {
        memory: thread.memory(),
        registers: Some(&thread.registers),
        cfa: Some(Thread::cfa()),
        bias: 0,
        tls: None,
        entry: None,
    }
}
