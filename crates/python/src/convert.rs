//! Values between the table's C types, cells and Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use verde_monitor::{Cell, Tag};
use verde_pyhost::abi::*;

pub fn text<'a>(t: Text) -> &'a str {
    // SAFETY: the caller's text is UTF-8 and lives during the call.
    unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(t.ptr, t.len)) }
}

pub fn list<'a, T>(l: &List<T>) -> &'a [T] {
    // SAFETY: the caller's array lives during the call.
    unsafe { std::slice::from_raw_parts(l.ptr, l.len) }
}

/// A handle as a Python value, borrowed for the call.
pub fn borrow(py: Python<'_>, handle: u64) -> Bound<'_, PyAny> {
    // SAFETY: a handle is a reference that `give` made and that the monitor still holds.
    unsafe { Bound::from_borrowed_ptr(py, handle as *mut pyo3::ffi::PyObject) }
}

/// A new reference as a handle; `release` gives it back.
pub fn give(value: Bound<'_, PyAny>) -> u64 {
    value.into_ptr() as u64
}

pub fn release(py: Python<'_>, handle: u64) {
    // SAFETY: the monitor gives back a reference that `give` made, once.
    drop(unsafe { Bound::from_owned_ptr(py, handle as *mut pyo3::ffi::PyObject) });
}

/// A cell as a Python value; nothing for an unset name.
pub fn to_python<'py>(py: Python<'py>, c: Cell) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match c.tag {
        Tag::Unset => return Ok(None),
        Tag::None => py.None().into_bound(py),
        Tag::Bool => PyBool::new(py, c.bits != 0).to_owned().into_any(),
        Tag::Int => (c.bits as i64).into_pyobject(py)?.into_any(),
        Tag::UInt => c.bits.into_pyobject(py)?.into_any(),
        Tag::Float => PyFloat::new(py, f64::from_bits(c.bits)).into_any(),
        Tag::Other => borrow(py, c.bits),
        Tag::Text | Tag::Json => {
            return Err(PyValueError::new_err("a key is not an environment value"));
        }
    }))
}

/// A plain value as a cell; `None` when only Python has it.
pub fn to_cell(v: &Bound<'_, PyAny>) -> Option<Cell> {
    if v.is_none() {
        return Some(Cell::NONE);
    }
    if let Ok(b) = v.cast_exact::<PyBool>() {
        return Some(Cell::bool(b.is_true()));
    }
    if v.cast_exact::<PyInt>().is_ok() {
        if let Ok(i) = v.extract::<i64>() {
            return Some(Cell::int(i));
        }
        return v.extract::<u64>().ok().map(Cell::uint);
    }
    if let Ok(f) = v.cast_exact::<PyFloat>() {
        return Some(Cell::float(f.value()));
    }
    None
}

pub fn argument<'py>(
    py: Python<'py>,
    v: &Value,
    from_json: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match v.kind {
        KIND_BOOL => PyBool::new(py, v.bits != 0).to_owned().into_any(),
        KIND_INT => (v.bits as i64).into_pyobject(py)?.into_any(),
        KIND_UINT => v.bits.into_pyobject(py)?.into_any(),
        KIND_FLOAT => PyFloat::new(py, f64::from_bits(v.bits)).into_any(),
        KIND_STR => PyString::new(py, text(v.text)).into_any(),
        KIND_JSON => from_json.call1((text(v.text),))?,
        _ => py.None().into_bound(py),
    })
}
