//! Variables of the selected frame, as `info locals`, `info args` and frame lines want them.

use crate::eval::{argument_value, variable_value};
use crate::print::{FrameArguments, PrintOptions, print_argument, print_inner};
use crate::scope::Scope;
use crate::value::Value;

/// A variable and its value.
#[derive(Clone, Debug)]
pub struct Named {
    /// The variable's name.
    pub name: String,
    /// Its value, or why it has none.
    pub value: Value,
}

/// Parameters of the selected frame, in order. At a function's entry they are read by the calling
/// convention.
pub fn arguments(scope: &dyn Scope) -> Vec<Named> {
    let Some(frame) = scope.frame() else {
        return Vec::new();
    };
    let (Some((module, _)), Some(die)) = (&frame.frame.module, frame.die()) else {
        return Vec::new();
    };
    if let (true, Some(addr)) = (frame.at_entry, frame.file_addr())
        && let Some(function) = module.function_at(addr).filter(|f| f.entry == addr)
    {
        let mut arguments = module.entry_arguments(&function);
        arguments.retain(|a| !a.variable.name.is_empty());
        let named = arguments.iter().map(|a| Named {
            name: a.variable.name.clone(),
            value: argument_value(scope, module, a, function.entry),
        });
        return named.collect();
    }
    let mut parameters = module.parameters(die);
    parameters.retain(|v| !v.name.is_empty());
    let parameters = parameters.iter().map(|v| Named {
        name: v.name.clone(),
        value: variable_value(scope, module, v),
    });
    parameters.collect()
}

/// Local variables of the selected frame, innermost block first. A name hidden by an inner block
/// appears again.
pub fn locals(scope: &dyn Scope) -> Vec<Named> {
    let Some(frame) = scope.frame() else {
        return Vec::new();
    };
    let (Some((module, _)), Some(die), Some(addr)) =
        (&frame.frame.module, frame.die(), frame.file_addr())
    else {
        return Vec::new();
    };
    let blocks = module.blocks(die, addr);
    let variables = blocks.iter().flat_map(|b| &b.variables);
    let named = variables.filter(|v| !v.is_parameter).map(|v| Named {
        name: v.name.clone(),
        value: variable_value(scope, module, v),
    });
    named.collect()
}

/// The arguments of the selected frame as its line shows them: `p=0x7ffe..., k=1`.
pub fn frame_arguments(scope: &dyn Scope, options: &PrintOptions) -> String {
    let all = arguments(scope);
    if options.frame_arguments == FrameArguments::Presence {
        return if all.is_empty() { "" } else { "..." }.to_owned();
    }
    let shown = |value: &Value| match options.frame_arguments {
        FrameArguments::All => print_inner(value, scope, options),
        FrameArguments::Scalars => print_argument(value, scope, options),
        FrameArguments::None | FrameArguments::Presence => "...".to_owned(),
    };
    let text = |n: &Named| format!("{}={}", n.name, shown(&n.value));
    let all: Vec<String> = all.iter().map(text).collect();
    all.join(", ")
}
