// Names of every kind a Rust program has: modules, generics, traits, closures, inlined functions.
use std::fmt;

mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
        fn twice(&self) -> f64 {
            self.area() * 2.0
        }
    }
    pub struct Circle(pub f64);
    pub struct Square {
        pub side: f64,
    }
    impl Area for Circle {
        #[inline(never)]
        fn area(&self) -> f64 {
            3.0 * self.0 * self.0
        }
    }
    impl Area for Square {
        #[inline(never)]
        fn area(&self) -> f64 {
            self.side * self.side
        }
    }
    pub mod deep {
        #[inline(never)]
        pub fn helper(x: i32) -> i32 {
            x + 1
        }
    }
}

struct Stack<T> {
    items: Vec<T>,
}

impl<T> Stack<T> {
    #[inline(never)]
    fn push(&mut self, item: T) {
        self.items.push(item);
    }
    #[inline(never)]
    fn depth(&self) -> usize {
        self.items.len()
    }
}

impl<T: fmt::Debug> fmt::Display for Stack<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}", self.items)
    }
}

#[inline(never)]
fn generic<T: Copy>(x: T) -> T {
    x
}

fn main() {
    use shapes::Area;
    let mut a = Stack { items: vec![1i32] };
    let mut b = Stack { items: vec![1u8] };
    a.push(2);
    b.push(3);
    let add = |x: i32| x + a.depth() as i32;
    let total = add(3) + shapes::deep::helper(4) + generic(1) + generic(2u8) as i32;
    let area = shapes::Circle(1.0).area() + shapes::Square { side: 2.0 }.twice();
    println!("{total} {area} {a} {b} {}", b.depth());
}
