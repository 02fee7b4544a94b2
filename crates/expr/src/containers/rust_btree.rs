//! Rust's ordered maps and sets: nodes of up to eleven entries, and edges
//! between them in nodes that are not leaves.

use super::{Pretty, Reader, SANE, first_pointer, path};
use crate::rust_print::active_variant;
use crate::value::Value;
use verde_symbols::{Memory, Type};

/// Deeper trees do not fit any memory.
const DEEPEST: u64 = 24;

pub(super) fn map(reader: &Reader) -> Option<Pretty> {
    let tree = Tree::of(reader.value, reader.memory)?;
    let (entries, more) = tree.entries(reader.limit)?;
    let head = format!("BTreeMap(size={})", tree.length);
    Some(Pretty::Pairs(head, entries, more))
}

/// A set is a map to nothing.
pub(super) fn set(reader: &Reader) -> Option<Pretty> {
    let map = reader.path(&["map"])?;
    let tree = Tree::of(&map, reader.memory)?;
    let (entries, more) = tree.entries(reader.limit)?;
    let keys = entries.into_iter().map(|(key, _)| key).collect();
    let head = format!("BTreeSet(size={})", tree.length);
    Some(Pretty::Items(head, keys, more))
}

struct Tree<'a> {
    memory: &'a dyn Memory,
    length: u64,
    /// The first node and its height; none of an empty map.
    root: Option<(u64, u64)>,
    key: Type,
    value: Type,
    leaf: Option<Type>,
}

impl<'a> Tree<'a> {
    fn of(map: &Value, memory: &'a dyn Memory) -> Option<Tree<'a>> {
        let mut arguments = map.ty.strip().arguments().into_iter();
        let (key, value) = (arguments.next()?.ty, arguments.next()?.ty);
        let length = path(map, &["length"], memory)?.to_integer().ok()?;
        let length = u64::try_from(length).ok().filter(|n| *n < SANE)?;
        let mut tree = Tree {
            memory,
            length,
            root: None,
            key,
            value,
            leaf: None,
        };
        if length > 0 {
            let root = path(map, &["root"], memory)?;
            // It is there: the option is the variant with a field.
            let some = active_variant(&root, &root.ty.strip(), memory)?.member;
            let some = root.part(some.ty, some.offset, memory);
            let node = path(&some, &["__0"], memory)?;
            let height = path(&node, &["height"], memory)?.to_integer().ok()?;
            let pointer = first_pointer(&path(&node, &["node"], memory)?, memory, 0)?;
            tree.leaf = pointer.ty.strip().target();
            let height = u64::try_from(height).ok().filter(|h| *h <= DEEPEST)?;
            tree.root = Some((pointer.to_address().ok()?, height));
        }
        Some(tree)
    }

    /// In order, at most `limit`; whether there are more.
    fn entries(&self, limit: usize) -> Option<(Vec<(Value, Value)>, bool)> {
        let mut out = Vec::new();
        if let Some((node, height)) = self.root {
            self.visit(node, height, limit, &mut out)?;
        }
        let more = (out.len() as u64) < self.length;
        Some((out, more))
    }

    fn visit(
        &self,
        at: u64,
        height: u64,
        limit: usize,
        out: &mut Vec<(Value, Value)>,
    ) -> Option<()> {
        let leaf = self.leaf.as_ref()?.strip();
        let offset = |name: &str| leaf.find_member(name).map(|m| m.offset);
        let (keys, values) = (offset("keys")?, offset("vals")?);
        let mut len = [0; 2];
        self.memory
            .read(at.wrapping_add(offset("len")?), &mut len)
            .ok()?;
        let len = u64::from(u16::from_le_bytes(len));
        // In the other nodes the edges follow what they share with leaves.
        let edges = at.wrapping_add(leaf.size()?);
        let down = |i: u64, out: &mut Vec<(Value, Value)>| -> Option<()> {
            if height == 0 {
                return Some(());
            }
            let child = self.memory.read_u64(edges.wrapping_add(8 * i)).ok()?;
            self.visit(child, height - 1, limit, out)
        };
        let element = |ty: &Type, start: u64, i: u64| {
            let size = ty.size().unwrap_or(0);
            let at = at.wrapping_add(start).wrapping_add(size.wrapping_mul(i));
            Value::at(ty.clone(), at, self.memory)
        };
        for i in 0..len {
            if out.len() >= limit {
                return Some(());
            }
            down(i, out)?;
            if out.len() < limit {
                out.push((element(&self.key, keys, i), element(&self.value, values, i)));
            }
        }
        down(len, out)
    }
}
