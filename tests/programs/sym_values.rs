// Values of every kind a Rust program has, at one stop: fixture of the symbol and expression tests.
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Color {
    Red,
    Green = 5,
}

#[derive(Debug)]
enum Shape {
    Unit,
    Circle(f64),
    Rect { w: u32, h: u32 },
}

struct Acc {
    total: i64,
    name: String,
    opt: Option<u32>,
}

struct Wrapper(u8, i16);
struct Nothing;
union Bits {
    int: u32,
    float: f32,
}

static GLOBAL: i32 = 41;
static mut COUNTER: u64 = 7;
thread_local!(static LOCAL: u32 = const { 3 });

#[inline(never)]
fn stop_here(v: &Vec<i32>, s: &String, sh: &Shape, a: &Acc, o: Option<u32>, t: (u8, i16), text: &str, slice: &[i32]) -> i64 {
    let none: Option<u32> = None;
    let reference: Option<&i32> = v.first();
    let boxed: Box<i32> = Box::new(17);
    let rc = Rc::new(5u32);
    let rc2 = rc.clone();
    let arc = Arc::new(6u32);
    let result: Result<i32, String> = Err("bad".to_string());
    let fine: Result<i32, String> = Ok(8);
    let array = [1u8, 2, 3];
    let nested = [[1i32, 2], [3, 4]];
    let zeros = [0i32; 40];
    let color = Color::Green;
    let red = Color::Red;
    let wrapper = Wrapper(1, -2);
    let nothing = Nothing;
    let unit = ();
    let letter = 'q';
    let flag = true;
    let float = 2.5f32;
    let double = 0.1f64;
    let big = 1u128 << 100;
    let negative = -5i8;
    let bits = Bits { int: 0x3f800000 };
    let function: fn(i32) -> i32 = helper;
    let raw = &array as *const [u8; 3];
    let unit_shape = Shape::Unit;
    let circle = Shape::Circle(1.5);
    let strings = vec!["one".to_string(), "two".to_string()];
    let empty: Vec<u8> = Vec::new();
    let tuple = (1, "two", 3.0);
    let map: HashMap<u32, &str> = HashMap::from([(7, "seven")]);
    let set: HashSet<i32> = HashSet::from([9]);
    let mut ring: VecDeque<i32> = VecDeque::from([2, 3]);
    ring.push_front(1);
    let n = map.len() as i64 + set.len() as i64 + ring.len() as i64 + v.len() as i64 + s.len() as i64 + helper(1) as i64; /* STOP */
    drop((rc2, arc));
    println!("{:?} {:?} {:?} {:?}", sh, unit_shape, circle, (result, fine, nested, zeros, strings, empty, tuple));
    n + a.total + o.unwrap_or(0) as i64 + t.0 as i64 + none.unwrap_or(0) as i64 + *reference.unwrap() as i64 + *boxed as i64
        + *rc as i64 + array[0] as i64 + color as i64 + red as i64 + wrapper.0 as i64 + wrapper.1 as i64 + letter as i64
        + flag as i64 + float as i64 + double as i64 + (big >> 100) as i64 + negative as i64 + unsafe { bits.int } as i64
        + unsafe { bits.float } as i64 + function(2) as i64 + raw as usize as i64 + text.len() as i64 + slice.len() as i64
        + std::mem::size_of_val(&nothing) as i64 + std::mem::size_of_val(&unit) as i64 + a.opt.unwrap() as i64 + a.name.len() as i64
        + GLOBAL as i64 + unsafe { COUNTER } as i64 + LOCAL.with(|l| *l) as i64
}

#[inline(never)]
fn helper(x: i32) -> i32 {
    x + 1
}

fn main() {
    let v = vec![3, 1, 4];
    let s = String::from("sage");
    let a = Acc { total: 77, name: s.clone(), opt: Some(6) };
    let r = stop_here(&v, &s, &Shape::Rect { w: 8, h: 9 }, &a, Some(5), (250, -3), "text", &v[1..]);
    println!("{}", r);
}
