//! Python as the host of a monitor whose code can ask about what is around it.

use std::cell::RefCell;
use verde_monitor::{Arg, Cell, Host, Params, Raised, Slices, Truth};
use verde_property::BlockId;
use verde_pyhost::{Asking, Cells, PythonHost, Services, Unit};

/// What is around the code of a monitor while an event is applied.
pub(crate) trait Surroundings {
    /// What remains of this event belongs to an abandoned future: no code runs.
    fn is_abandoned(&self) -> bool {
        false
    }

    /// Python, and who answers its code.
    fn parts(&mut self) -> (&mut PythonHost, &mut dyn Services);
}

/// The host shares its surroundings with the observer, each for the time of a call, and never at
/// the same time.
pub(crate) struct CodeHost<'c, S>(pub &'c RefCell<S>);

impl<S: Surroundings> Host for CodeHost<'_, S> {
    fn run(
        &mut self,
        slices: &Slices,
        block: BlockId,
        params: Params,
        cells: &mut [Cell],
        owned: &mut [bool],
        out: &mut String,
    ) -> Result<Truth, Raised> {
        let around = &mut *self.0.borrow_mut();
        if around.is_abandoned() {
            return Ok(Truth::None);
        }
        let (python, services) = around.parts();
        let asking = Asking {
            services,
            slices: Some(slices),
        };
        let unit = Unit::from(&**slices.property());
        let cells = Cells { cells, owned };
        python.run_block(unit, block, params, cells, Some(asking), out)
    }

    fn has_action(&mut self, name: &str) -> bool {
        self.0.borrow_mut().parts().0.has_action(name)
    }

    fn action(
        &mut self,
        slices: &Slices,
        name: &str,
        slice: &[(&str, Arg)],
        out: &mut String,
    ) -> Result<(), Raised> {
        let around = &mut *self.0.borrow_mut();
        if around.is_abandoned() {
            return Ok(());
        }
        let (python, services) = around.parts();
        let asking = Asking {
            services,
            slices: Some(slices),
        };
        python.call_action(slices.property().uid, name, slice, Some(asking), out)
    }

    fn copy(&mut self, cells: &mut [Cell]) -> Result<(), Raised> {
        self.0.borrow_mut().parts().0.copy(cells)
    }

    fn release(&mut self, cell: Cell) {
        self.0.borrow_mut().parts().0.release(cell);
    }

    fn json(&mut self, cell: Cell) -> String {
        self.0.borrow_mut().parts().0.json(cell)
    }
}
