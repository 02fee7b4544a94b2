//! Strings of keys, each stored once while some slice has it.

use std::collections::HashMap;

#[derive(Clone, Debug, Default)]
pub struct Interner {
    ids: HashMap<Box<str>, u32>,
    texts: Vec<(Box<str>, u32)>,
    free: Vec<u32>,
}

impl Interner {
    pub fn find(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub fn get(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", |(t, _)| t)
    }

    /// The number of `text`, with one more reference to it.
    pub fn hold(&mut self, text: &str) -> u32 {
        if let Some(id) = self.find(text) {
            self.texts[id as usize].1 += 1;
            return id;
        }
        let entry = (Box::from(text), 1);
        let id = match self.free.pop() {
            Some(id) => {
                self.texts[id as usize] = entry;
                id
            }
            None => {
                self.texts.push(entry);
                self.texts.len() as u32 - 1
            }
        };
        self.ids.insert(text.into(), id);
        id
    }

    pub fn drop_one(&mut self, id: u32) {
        let Some((text, count)) = self.texts.get_mut(id as usize) else {
            return;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.ids.remove(text);
            *text = "".into();
            self.free.push(id);
        }
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
}
