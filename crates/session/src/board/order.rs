//! In which order slices stand in a table.

use super::filter::{Field, number, show};
use super::request::Query;
use std::cmp::Ordering;
use verde_monitor::{Host, Slices, SlotRef, Tag};
use verde_property::Property;

/// What a table is sorted by.
pub enum Column {
    State,
    Field(Field),
}

impl Column {
    pub fn find(name: &str, property: &Property) -> Result<Column, String> {
        match Field::find(name, property) {
            Some(field) => Ok(Column::Field(field)),
            None if name == "state" => Ok(Column::State),
            None => Err(format!("there is no column {name}")),
        }
    }

    pub fn key(&self, slices: &Slices, r: SlotRef, host: &mut dyn Host, text: &mut String) -> Key {
        let field = match self {
            Column::State => return Key::Int(slices.state(r).index() as i128),
            Column::Field(field) => field,
        };
        let cell = field.cell(slices, r);
        match number(cell) {
            _ if cell.tag == Tag::Unset => Key::Nothing,
            (Some(int), _) => Key::Int(int),
            (None, Some(float)) => Key::Float(float),
            (None, None) => {
                show(slices, cell, host, text);
                Key::Text(text.clone())
            }
        }
    }
}

/// The value of a column: numbers, then texts, then those without.
pub enum Key {
    Int(i128),
    Float(f64),
    Text(String),
    Nothing,
}

impl Key {
    fn rank(&self) -> u8 {
        match self {
            Key::Int(_) | Key::Float(_) => 0,
            Key::Text(_) => 1,
            Key::Nothing => 2,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Int(a), Key::Int(b)) => a.cmp(b),
            (Key::Float(a), Key::Float(b)) => a.total_cmp(b),
            (Key::Int(a), Key::Float(b)) => (*a as f64).total_cmp(b),
            (Key::Float(a), Key::Int(b)) => a.total_cmp(&(*b as f64)),
            (Key::Text(a), Key::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// The part of a list that a query asks for, in order; the rest is left in none.
pub fn part<K: Ord>(mut found: Vec<(K, SlotRef)>, query: &Query, most: usize) -> Vec<SlotRef> {
    let matching = found.len();
    let offset = query.offset.min(matching);
    let end = offset.saturating_add(query.limit.min(most)).min(matching);
    let (first, last) = match query.down {
        true => (matching - end, matching - offset),
        false => (offset, end),
    };
    let by_key = |a: &(K, SlotRef), b: &(K, SlotRef)| a.0.cmp(&b.0);
    if first > 0 && first < matching {
        found.select_nth_unstable_by(first, by_key);
    }
    let rest = &mut found[first..];
    if last - first < rest.len() && last > first {
        rest.select_nth_unstable_by(last - first, by_key);
    }
    let shown = &mut rest[..last - first];
    shown.sort_unstable_by(by_key);
    if query.down {
        shown.reverse();
    }
    shown.iter().map(|(_, r)| *r).collect()
}
