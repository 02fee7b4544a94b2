// Enums whose variants share names of fields, at one stop: fixture of the expression tests.
struct Spot {
    x: i32,
    y: i32,
}

enum Pay {
    Cash { amount: i64, notes: u8 },
    Card(i64, u8),
    Wire { to: u8, amount: i64 },
    Free,
}

enum Held {
    Text { amount: i64, note: String },
    Pair(i64, u8),
    Far { to: usize, amount: i32 },
    At { at: Spot },
    Nothing,
}

fn main() {
    let pays = [
        Pay::Cash { amount: 11, notes: 1 },
        Pay::Card(22, 2),
        Pay::Wire { to: 3, amount: 33 },
        Pay::Free,
    ];
    let helds = [
        Held::Text { amount: 44, note: "x".to_string() },
        Held::Pair(55, 5),
        Held::Far { to: 6, amount: 66 },
        Held::At { at: Spot { x: 7, y: 8 } },
        Held::Nothing,
    ];
    let one = &pays[2];
    let some = Some(5u8);
    println!("{} {some:?}", std::mem::size_of_val(one)); // STOP
    for held in &helds {
        match held {
            Held::Text { amount, note } => println!("{amount} {note}"),
            Held::Pair(a, b) => println!("{a} {b}"),
            Held::Far { to, amount } => println!("{to} {amount}"),
            Held::At { at } => println!("{} {}", at.x, at.y),
            Held::Nothing => println!("nothing"),
        }
    }
    for pay in &pays {
        match pay {
            Pay::Cash { amount, notes } => println!("{amount} {notes}"),
            Pay::Card(a, b) => println!("{a} {b}"),
            Pay::Wire { to, amount } => println!("{to} {amount}"),
            Pay::Free => println!("free"),
        }
    }
}
