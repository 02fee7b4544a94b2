// Locks, cells, counted pointers, trait objects and lists at one stop: fixture of the expression tests.
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BinaryHeap, HashMap, LinkedList, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

trait Animal {
    fn legs(&self) -> u32;
}
struct Dog {
    name: String,
}
struct Bird(u8);
impl Animal for Dog {
    fn legs(&self) -> u32 {
        4
    }
}
impl Animal for Bird {
    fn legs(&self) -> u32 {
        u32::from(self.0)
    }
}
enum Shape {
    Circle { r: f64 },
    Unit,
}
static COUNT: AtomicUsize = AtomicUsize::new(3);

fn main() {
    let dog: Box<dyn Animal> = Box::new(Dog { name: "rex".into() });
    let bird: &dyn Animal = &Bird(2);
    let mutex = Mutex::new(String::from("locked"));
    let guard = mutex.lock().unwrap();
    let free = Mutex::new(7u8);
    let lock = RwLock::new(5u8);
    let reader = lock.read().unwrap();
    let cell = Cell::new(4);
    let shared = RefCell::new(vec![1, 2]);
    let borrowed = shared.borrow_mut();
    let flag = AtomicBool::new(true);
    let text: Rc<str> = "rcstr".into();
    let atomic_text: Arc<str> = "arcstr".into();
    let boxed_text: Box<str> = "boxstr".into();
    let numbers: Rc<[i32]> = vec![1, 2, 3].into();
    let boxed: Box<[i32]> = vec![4, 5].into();
    let weak: Weak<str> = Rc::downgrade(&text);
    let gone: Weak<i32> = Weak::new();
    let list: LinkedList<i32> = vec![1, 2].into_iter().collect();
    let heap: BinaryHeap<i32> = vec![3, 9, 1].into_iter().collect();
    let ring: VecDeque<i32> = vec![1, 2, 3].into_iter().collect();
    let path = std::path::PathBuf::from("/tmp/x");
    let vector = vec!["one".to_string(), "two".to_string()];
    let array = [1u8, 2, 3];
    let slice = &array[1..];
    let map: HashMap<String, i32> = vec![("a".to_string(), 1)].into_iter().collect();
    let tree: BTreeMap<i32, &str> = vec![(1, "x"), (2, "y")].into_iter().collect();
    let shapes = [Shape::Circle { r: 1.5 }, Shape::Unit];
    let legs = dog.legs() + bird.legs() + COUNT.load(Ordering::SeqCst) as u32;
    println!("{legs}"); // STOP
    if let Shape::Circle { r } = &shapes[0] {
        println!("{r}");
    }
    println!("{guard} {free:?} {reader} {cell:?} {borrowed:?} {flag:?} {text} {atomic_text} {boxed_text}");
    println!("{numbers:?} {boxed:?} {weak:?} {gone:?} {list:?} {heap:?} {ring:?} {path:?}");
    println!("{vector:?} {array:?} {slice:?} {map:?} {tree:?}");
}
