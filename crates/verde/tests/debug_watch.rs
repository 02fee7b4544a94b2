//! Watchpoints on expressions: what they read is watched as a whole.

mod lab;

use lab::{Fallible, Lab, in_order};

const SOURCE: &str = r#"struct node { int x; int y; struct node *next; };
static struct node one = {1, 2, 0}, two = {10, 20, &one};
struct node *p = &one;
int table[4] = {4, 3, 2, 1};
int index_;
static void change(struct node *n) {
    n->x += 5;
    n->y += 5;
}
static int local(struct node *first) {
    struct node *q = first;
    int sum = q->x;
    change(q);
    sum += q->x;
    q = q->next;
    sum += q->x;
    change(q);
    return sum;
}
int main(void) {
    change(&one);
    p = &two;
    change(&one);
    change(&two);
    p = &one;
    p = 0;
    index_ = 2;
    table[2] = 7;
    table[0] = 9;
    index_ = 0;
    return local(&two) > 0 ? 0 : 1;
}
"#;

fn lab() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::c(SOURCE, &["-O0"])
}

#[test]
fn a_member_behind_a_pointer_is_watched_with_the_pointer() -> Fallible {
    let lab = lab()?;
    lab.same_as_gdb(&[
        "tbreak main",
        "run",
        "watch p->x",
        "continue",
        "continue",
        "continue",
        "continue",
        "continue",
    ])?;
    lab.same_as_gdb(&[
        "tbreak main",
        "run",
        "watch table[index_]",
        "continue",
        "continue",
        "continue",
    ])?;
    lab.same_as_gdb(&["watch two.x + two.y", "run", "continue", "info breakpoints"])?;
    let text = lab.script("start\nwatch p->x\nc\nc\nc\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Old value = 1\nNew value = 6\n",
            "Old value = 6\nNew value = 10\n",
            "Old value = 10\nNew value = 15\n",
            // one.x was written twice, the second time unseen.
            "Old value = 15\nNew value = 11\n",
            "Old value = 11\nNew value = <unreadable>",
        ],
    );
    Ok(())
}

#[test]
fn a_location_is_watched_alone() -> Fallible {
    let text = lab()?.script("start\nwatch -l p->x\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Hardware watchpoint 2: -l p->x\n",
            "Old value = 1\nNew value = 6\n",
            "Old value = 6\nNew value = 11\n",
        ],
    );
    assert!(!text.contains("New value = 10"), "{text}");
    Ok(())
}

#[test]
fn a_local_chain_is_followed_from_called_functions() -> Fallible {
    let text = lab()?.script("break 12\nrun\nwatch q->x\nc\nbt 1\nc\nc\nc\n", &[])?;
    in_order(
        &text,
        &[
            "Hardware watchpoint 2: q->x\n",
            "Old value = 15\nNew value = 20\n",
            "#0  change (n=",
            "Old value = 20\nNew value = 11\n",
            "Old value = 11\nNew value = 16\n",
            "Watchpoint 2 deleted",
        ],
    );
    Ok(())
}

#[test]
fn what_cannot_be_watched() -> Fallible {
    let commands = [
        "watch",
        "watch 5",
        "watch nothing",
        "watch p = 0",
        "print 1",
    ];
    let output = lab()?.verde(&commands, &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), commands.len() - 1, "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "$1 = 1\n");
    Ok(())
}
