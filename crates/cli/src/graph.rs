//! `verde graph`: a picture of a property.

use crate::diagnostics::{self, Format};
use crate::exit::Exit;
use crate::paint::Paint;
use std::path::PathBuf;
use verde_property::{Functions, load_property};

pub struct GraphCommand {
    pub file: PathBuf,
    pub output: PathBuf,
}

pub fn graph(c: &GraphCommand) -> Exit {
    let fail = |text: String| {
        eprintln!("verde: {text}");
        Exit::ERROR
    };
    let svg = match c.output.extension().and_then(|e| e.to_str()) {
        Some("svg") => true,
        Some("dot" | "gv") => false,
        _ => {
            return fail(format!(
                "{}: the output's name must end in .svg or .dot",
                c.output.display()
            ));
        }
    };
    let text = match verde_session::property_text(&c.file) {
        Ok(text) => text,
        Err(e) => return fail(e.to_string()),
    };
    let loaded = load_property(&text.name, &text.bytes, &Functions::default());
    let Some(property) = loaded.model else {
        eprint!(
            "{}",
            diagnostics::text(
                &loaded.source,
                &loaded.found,
                Format::Human,
                Paint::stderr()
            )
        );
        return Exit::ERROR;
    };
    const MOST: usize = 300;
    if svg && property.states.len() > MOST {
        return fail(format!(
            "more than {MOST} states make no readable picture; write a .dot file for Graphviz"
        ));
    }
    let text = if svg {
        verde_graph::svg(&property)
    } else {
        verde_graph::dot(&property)
    };
    match std::fs::write(&c.output, text) {
        Ok(()) => Exit::OK,
        Err(e) => fail(format!("cannot write {}: {e}", c.output.display())),
    }
}
