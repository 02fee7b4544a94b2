//! Python as the host of a monitor whose code can ask about what is around it.

use crate::writes::Writes;
use std::cell::RefCell;
use verde_monitor::{Assigned, Cell, Host, Params, Raised, SlotRef, Truth, View};
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

    /// What code asks to be changed.
    fn writes(&mut self) -> &mut Writes;

    /// Code raised: what it and the code of its slice before it asked for that slice is not done, but
    /// the first `from` of all that was asked for stay.
    fn take_back(&mut self, from: usize, view: View) {
        let dropped = self.writes().take_back(from, view);
        self.release(dropped);
    }

    fn release(&mut self, cells: Vec<Cell>) {
        let (python, _) = self.parts();
        cells.into_iter().for_each(|cell| python.release(cell));
    }
}

/// The host shares its surroundings with the observer, each for the time of a call, and never at
/// the same time.
pub(crate) struct CodeHost<'c, S>(pub &'c RefCell<S>);

impl<S: Surroundings> Host for CodeHost<'_, S> {
    fn run(
        &mut self,
        view: View,
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
            view: Some(view),
        };
        let unit = Unit::from(&**view.property());
        let cells = Cells { cells, owned };
        let ran = python.run_block(unit, block, params, cells, Some(asking), out);
        if ran.is_err() {
            around.take_back(0, view);
        }
        ran
    }

    fn has_action(&mut self, name: &str) -> bool {
        self.0.borrow_mut().parts().0.has_action(name)
    }

    fn action(
        &mut self,
        view: View,
        name: &str,
        slice: SlotRef,
        out: &mut String,
    ) -> Result<Assigned, Raised> {
        let around = &mut *self.0.borrow_mut();
        if around.is_abandoned() {
            return Ok(Assigned::new());
        }
        let before = around.writes().len();
        let (python, services) = around.parts();
        let asking = Asking {
            services,
            view: Some(view),
        };
        let (uid, named) = (view.property().uid, view.bindings(slice));
        let called = python.call_action(uid, name, &named, Some(asking), out);
        if let Err(raised) = called {
            // The action of a state: what brought the slice there stays.
            around.take_back(if view.is_ahead() { 0 } else { before }, view);
            return Err(raised);
        }
        let (assigned, dropped) = around.writes().settle(before, view, slice);
        around.release(dropped);
        Ok(assigned)
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
