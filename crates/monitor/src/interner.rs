//! Strings and structures of keys, each stored once while some slice has it.

use std::collections::HashMap;

#[derive(Clone, Debug, Default)]
pub struct Interner {
    strings: HashMap<Box<str>, u32>,
    /// Structures by the text that is kept, and by the one form that all equal ones have.
    structures: HashMap<Box<str>, u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Entry {
    text: Box<str>,
    /// Of a structure the form that equal ones share; members have no order there.
    form: Option<Box<str>>,
    count: u32,
}

impl Interner {
    pub fn find(&self, text: &str) -> Option<u32> {
        self.strings.get(text).copied()
    }

    /// The number of a structure in JSON, in whatever order its members are.
    pub fn find_structure(&self, json: &str) -> Option<u32> {
        if self.structures.is_empty() {
            return None;
        }
        let known = self.structures.get(json);
        let known = known.or_else(|| self.structures.get(&*form(json)));
        known.copied()
    }

    pub fn get(&self, id: u32) -> &str {
        self.entries.get(id as usize).map_or("", |e| &e.text)
    }

    /// The number of `text`, with one more reference to it.
    pub fn hold(&mut self, text: &str) -> u32 {
        if let Some(id) = self.find(text) {
            self.hold_again(id);
            return id;
        }
        let id = self.add(text, None);
        self.strings.insert(text.into(), id);
        id
    }

    /// The same of a structure.
    pub fn hold_structure(&mut self, json: &str) -> u32 {
        if let Some(id) = self.find_structure(json) {
            self.hold_again(id);
            return id;
        }
        let form = form(json);
        let id = self.add(json, Some(form.clone()));
        self.structures.insert(json.into(), id);
        self.structures.insert(form, id);
        id
    }

    /// One more reference to what has a number.
    pub fn hold_again(&mut self, id: u32) {
        if let Some(entry) = self.entries.get_mut(id as usize) {
            entry.count += 1;
        }
    }

    fn add(&mut self, text: &str, form: Option<Box<str>>) -> u32 {
        let entry = Entry {
            text: text.into(),
            form,
            count: 1,
        };
        match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        }
    }

    pub fn drop_one(&mut self, id: u32) {
        let Some(entry) = self.entries.get_mut(id as usize) else {
            return;
        };
        entry.count = entry.count.saturating_sub(1);
        if entry.count > 0 {
            return;
        }
        let text = std::mem::take(&mut entry.text);
        match entry.form.take() {
            None => self.strings.remove(&text),
            Some(form) => {
                self.structures.remove(&text);
                self.structures.remove(&form)
            }
        };
        self.free.push(id);
    }
}

/// Members by name and numbers as one writes them; what is no JSON is its own form.
fn form(json: &str) -> Box<str> {
    match serde_json::from_str::<serde_json::Value>(json) {
        Ok(value) => value.to_string().into(),
        Err(_) => json.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_lives_while_it_is_held() {
        let mut i = Interner::default();
        let a = i.hold("a");
        assert_eq!(i.hold("a"), a);
        let b = i.hold("b");
        i.drop_one(a);
        assert_eq!(i.find("a"), Some(a));
        i.drop_one(a);
        assert_eq!(i.find("a"), None);
        assert_eq!(i.hold("c"), a, "the number is used again");
        assert_eq!((i.get(a), i.get(b)), ("c", "b"));
    }

    #[test]
    fn equal_structures_are_one() {
        let mut i = Interner::default();
        let a = i.hold_structure(r#"{"z":1,"a":[1.50]}"#);
        let other = r#"{"a":[1.5],"z":1}"#;
        assert_eq!(i.find_structure(other), Some(a));
        assert_eq!(i.hold_structure(other), a);
        assert_eq!(i.get(a), r#"{"z":1,"a":[1.50]}"#, "as it came first");
        assert_eq!(i.find(other), None, "a string is no structure");
        i.drop_one(a);
        assert_eq!(i.find_structure(other), Some(a));
        i.drop_one(a);
        assert_eq!(i.find_structure(other), None);
        assert_eq!(i.find_structure(r#"{"z":1,"a":[1.50]}"#), None);
    }
}
