//! `verde lint` and `verde graph` as a user runs them.

use crate::common::{Dir, root, verde};

#[test]
fn lint_points_at_the_culprit_and_exits_1_on_errors_only() {
    let dir = root().join("tests/diagnostics");
    let mut errors = 0;
    for file in std::fs::read_dir(&dir).unwrap().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let ran = verde(&dir, &["lint", &name]);
        let wrong = ran.out.contains("error[");
        assert_eq!(ran.code, i32::from(wrong), "{name}: {}", ran.out);
        assert!(
            ran.out.contains(&format!("--> {name}:")) && ran.out.contains("help:"),
            "{}",
            ran.out
        );
        errors += i32::from(wrong);
        let jsonl = verde(&dir, &["lint", "--format", "jsonl", &name]);
        for line in jsonl.out.lines() {
            let v: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(
                v["line"].as_u64() > Some(0)
                    && v["column"].as_u64() > Some(0)
                    && v["hint"].is_string()
            );
        }
    }
    assert!(errors >= 20, "{errors} wrong properties");
}

#[test]
fn lint_runs_nothing_and_tells_the_tiers() {
    let dir = Dir::new("lint");
    dir.write(
        "f.py",
        "open('/nonexistent/file')\ndef sink_reached(): pass\n",
    );
    dir.write("p.prop", "initialization { n = 0; l = [1 / 0] }\nstate init { transition { event f(x) { return x > n } success init failure bad } }\nstate bad non-accepting sink_reached()\n");
    let ran = verde(dir.path(), &["lint", "p.prop", "-f", "f.py", "--tiers"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(
        ran.out
            .contains("p.prop:1: initialization runs python: a list"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("p.prop:2: guard runs typed"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("no findings"), "{}", ran.out);
}

#[test]
fn pictures_need_no_other_program() {
    let dir = Dir::new("graph");
    let prop = root().join("tests/listings/queue_short.prop");
    let prop = prop.to_str().unwrap();
    assert_eq!(verde(dir.path(), &["graph", prop, "-o", "q.svg"]).code, 0);
    let svg = std::fs::read_to_string(dir.path().join("q.svg")).unwrap();
    for text in [
        "<svg",
        "queue_ready",
        "[N &lt; maxSize]",
        "[not (N &lt; maxSize)]",
        "sink_reached()",
        "class=\"non-accepting\"",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    assert_eq!(verde(dir.path(), &["graph", prop, "-o", "q.dot"]).code, 0);
    let dot = std::fs::read_to_string(dir.path().join("q.dot")).unwrap();
    assert!(dot.starts_with("digraph") && dot.contains("N < maxSize"));
    let hostile = "state init { transition { event f(x) { return x < 3 and \"</text><script>\" } success init failure bad } }\nstate bad non-accepting";
    dir.write("h.prop", hostile);
    assert_eq!(
        verde(dir.path(), &["graph", "h.prop", "-o", "h.svg"]).code,
        0
    );
    let svg = std::fs::read_to_string(dir.path().join("h.svg")).unwrap();
    assert!(!svg.contains("<script"), "text of the property is escaped");
}
