//! A layered layout: states in rows from `init` down, labels on rows of their
//! own between them, crossings and bends kept few.

/// A box to be placed: a state, or the label of an edge.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Extents to the left and right of its centre line: a loop's label hangs on one side.
    pub left: f64,
    pub right: f64,
    pub height: f64,
}

#[derive(Clone, Debug)]
pub struct EdgeIn {
    pub from: usize,
    pub to: usize,
    pub label: Size,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// The course of an edge from its source to its target, and the centre line of its label.
#[derive(Clone, Debug)]
pub struct Route {
    pub points: Vec<Point>,
    pub label: Point,
}

pub struct Layout {
    pub nodes: Vec<Point>,
    pub edges: Vec<Route>,
    pub width: f64,
    pub height: f64,
}

const GAP_X: f64 = 28.0;
const GAP_Y: f64 = 26.0;
const THIN: Size = Size {
    left: 6.0,
    right: 6.0,
    height: 0.0,
};

struct Cell {
    size: Size,
    rank: usize,
    x: f64,
    up: Vec<usize>,
    down: Vec<usize>,
}

/// `edges` has no loops. Nodes that cannot be reached from `root` stand in the first row.
pub fn layout(nodes: &[Size], edges: &[EdgeIn], root: usize) -> Layout {
    let back = back_edges(nodes.len(), edges, root);
    let ranks = ranks(nodes.len(), edges, &back, root);
    let mut cells: Vec<Cell> = nodes
        .iter()
        .zip(&ranks)
        .map(|(size, rank)| cell(*size, *rank))
        .collect();
    // Each edge becomes a chain of cells, one per row, with the label in the middle.
    let mut chains: Vec<Vec<usize>> = Vec::new();
    let mut labels: Vec<usize> = Vec::new();
    for (e, back) in edges.iter().zip(&back) {
        let (top, bottom) = if *back {
            (e.to, e.from)
        } else {
            (e.from, e.to)
        };
        let (first, last) = (ranks[top], ranks[bottom]);
        let middle = first + (last - first) / 2;
        let middle = if middle % 2 == 0 { middle + 1 } else { middle };
        let mut chain = vec![top];
        for rank in first + 1..last {
            let size = if rank == middle { e.label } else { THIN };
            if rank == middle {
                labels.push(cells.len());
            }
            chain.push(cells.len());
            cells.push(cell(size, rank));
        }
        chain.push(bottom);
        for pair in chain.windows(2) {
            cells[pair[0]].down.push(pair[1]);
            cells[pair[1]].up.push(pair[0]);
        }
        chains.push(chain);
    }
    let mut rows = rows(&cells);
    order(&mut rows, &cells);
    place_x(&rows, &mut cells);
    let (y, heights) = place_y(&rows, &cells);
    let at = |i: usize| Point {
        x: cells[i].x,
        y: y[cells[i].rank],
    };
    let routes = chains
        .iter()
        .zip(&labels)
        .zip(&back)
        .map(|((chain, label), back)| {
            let mut points = course(chain, &cells, &y, &heights);
            if *back {
                points.reverse();
            }
            Route {
                points,
                label: at(*label),
            }
        })
        .collect();
    let width = cells.iter().map(|c| c.x + c.size.right).fold(0.0, f64::max);
    let height = y.last().map_or(0.0, |y| *y) + heights.last().map_or(0.0, |h| h / 2.0);
    Layout {
        nodes: (0..nodes.len()).map(at).collect(),
        edges: routes,
        width,
        height,
    }
}

fn cell(size: Size, rank: usize) -> Cell {
    Cell {
        size,
        rank,
        x: 0.0,
        up: Vec::new(),
        down: Vec::new(),
    }
}

/// Edges that close a cycle on the way from the root.
fn back_edges(n: usize, edges: &[EdgeIn], root: usize) -> Vec<bool> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, e) in edges.iter().enumerate() {
        out[e.from].push(i);
    }
    let mut back = vec![false; edges.len()];
    // 0 not seen, 1 on the path, 2 done
    let mut colour = vec![0u8; n];
    for start in std::iter::once(root).chain(0..n) {
        if colour[start] != 0 {
            continue;
        }
        let mut path = vec![(start, 0)];
        colour[start] = 1;
        while let Some((node, next)) = path.last_mut() {
            let Some(&e) = out[*node].get(*next) else {
                colour[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[e].to;
            match colour[to] {
                0 => {
                    colour[to] = 1;
                    path.push((to, 0));
                }
                1 => back[e] = true,
                _ => {}
            }
        }
    }
    back
}

/// Even rows for states (odd ones are for labels): the longest way down to each.
fn ranks(n: usize, edges: &[EdgeIn], back: &[bool], root: usize) -> Vec<usize> {
    let mut rank = vec![0usize; n];
    let mut into = vec![0usize; n];
    let forward = |e: &EdgeIn, back: bool| if back { (e.to, e.from) } else { (e.from, e.to) };
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (e, b) in edges.iter().zip(back) {
        let (from, to) = forward(e, *b);
        out[from].push(to);
        into[to] += 1;
    }
    let mut ready: Vec<usize> = (0..n).filter(|i| into[*i] == 0).collect();
    ready.sort_by_key(|i| *i != root);
    while let Some(i) = ready.pop() {
        for &to in &out[i] {
            rank[to] = rank[to].max(rank[i] + 2);
            into[to] -= 1;
            if into[to] == 0 {
                ready.push(to);
            }
        }
    }
    rank
}

fn rows(cells: &[Cell]) -> Vec<Vec<usize>> {
    let n = cells.iter().map(|c| c.rank).max().map_or(0, |r| r + 1);
    let mut rows = vec![Vec::new(); n];
    for (i, c) in cells.iter().enumerate() {
        rows[c.rank].push(i);
    }
    rows
}

/// Orders the rows by the mean place of neighbours, down and up; keeps the best.
fn order(rows: &mut Vec<Vec<usize>>, cells: &[Cell]) {
    let mut best = (crossings(rows, cells), rows.clone());
    for round in 0..16 {
        let down = round % 2 == 0;
        let n = rows.len();
        let turn: Vec<usize> = if down {
            (1..n).collect()
        } else {
            (0..n.saturating_sub(1)).rev().collect()
        };
        for r in turn {
            let fixed = if down { r - 1 } else { r + 1 };
            let mut place = vec![usize::MAX; cells.len()];
            for (k, i) in rows[fixed].iter().enumerate() {
                place[*i] = k;
            }
            let mut keyed: Vec<(f64, usize)> = rows[r]
                .iter()
                .enumerate()
                .map(|(k, i)| {
                    let near = if down { &cells[*i].up } else { &cells[*i].down };
                    let known: Vec<usize> = near
                        .iter()
                        .map(|j| place[*j])
                        .filter(|p| *p != usize::MAX)
                        .collect();
                    let mean = if known.is_empty() {
                        k as f64
                    } else {
                        known.iter().sum::<usize>() as f64 / known.len() as f64
                    };
                    (mean, *i)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[r] = keyed.into_iter().map(|(_, i)| i).collect();
        }
        let now = crossings(rows, cells);
        if now < best.0 {
            best = (now, rows.clone());
        }
    }
    *rows = best.1;
}

fn crossings(rows: &[Vec<usize>], cells: &[Cell]) -> usize {
    let mut place = vec![0; cells.len()];
    for row in rows {
        for (k, i) in row.iter().enumerate() {
            place[*i] = k;
        }
    }
    let mut n = 0;
    for row in rows {
        let lines: Vec<(usize, usize)> = row
            .iter()
            .flat_map(|i| cells[*i].down.iter().map(|j| (place[*i], place[*j])))
            .collect();
        for (a, x) in lines.iter().enumerate() {
            for y in &lines[a + 1..] {
                n += usize::from((x.0 < y.0 && x.1 > y.1) || (x.0 > y.0 && x.1 < y.1));
            }
        }
    }
    n
}

/// Pulls every cell towards the mean of its neighbours while rows keep order and gaps.
fn place_x(rows: &[Vec<usize>], cells: &mut [Cell]) {
    for row in rows {
        let mut x = 0.0;
        for &i in row {
            x += cells[i].size.left;
            cells[i].x = x;
            x += cells[i].size.right + GAP_X;
        }
    }
    for round in 0..60 {
        let turn: Vec<usize> = if round % 2 == 0 {
            (0..rows.len()).collect()
        } else {
            (0..rows.len()).rev().collect()
        };
        for r in turn {
            let wish: Vec<f64> = rows[r]
                .iter()
                .map(|&i| {
                    let near: Vec<f64> = cells[i]
                        .up
                        .iter()
                        .chain(&cells[i].down)
                        .map(|j| cells[*j].x)
                        .collect();
                    if near.is_empty() {
                        cells[i].x
                    } else {
                        near.iter().sum::<f64>() / near.len() as f64
                    }
                })
                .collect();
            settle(&rows[r], &wish, cells);
        }
    }
    let least = cells
        .iter()
        .map(|c| c.x - c.size.left)
        .fold(f64::MAX, f64::min);
    for c in cells.iter_mut() {
        c.x -= least;
    }
}

/// The places nearest to the wishes that keep the order and the gaps: cells
/// that press against each other share their mean displacement.
fn settle(row: &[usize], wish: &[f64], cells: &mut [Cell]) {
    // Blocks of neighbours that touch: start of the first, sum of (wish - offset), count.
    struct Block {
        first: usize,
        sum: f64,
        count: f64,
        width: f64,
    }
    let mut offset = Vec::with_capacity(row.len());
    let mut blocks: Vec<Block> = Vec::new();
    for (k, &i) in row.iter().enumerate() {
        let mut b = Block {
            first: k,
            sum: wish[k] - cells[i].size.left,
            count: 1.0,
            width: cells[i].size.left + cells[i].size.right,
        };
        offset.push(0.0);
        while let Some(prev) = blocks.last() {
            let end = prev.sum / prev.count + prev.width + GAP_X;
            if b.sum / b.count >= end {
                break;
            }
            let shift = prev.width + GAP_X;
            let Some(prev) = blocks.pop() else { break };
            for o in &mut offset[b.first..=k] {
                *o += shift;
            }
            b = Block {
                first: prev.first,
                sum: prev.sum + b.sum - b.count * shift,
                count: prev.count + b.count,
                width: shift + b.width,
            };
        }
        blocks.push(b);
    }
    for (n, b) in blocks.iter().enumerate() {
        let end = blocks.get(n + 1).map_or(row.len(), |next| next.first);
        for k in b.first..end {
            let i = row[k];
            cells[i].x = b.sum / b.count + offset[k] + cells[i].size.left;
        }
    }
}

/// Where the middle of each row is, and how high it is.
fn place_y(rows: &[Vec<usize>], cells: &[Cell]) -> (Vec<f64>, Vec<f64>) {
    let mut y = 0.0;
    let (mut middles, mut heights) = (Vec::new(), Vec::new());
    for row in rows {
        let height = row
            .iter()
            .map(|i| cells[*i].size.height)
            .fold(0.0, f64::max);
        middles.push(y + height / 2.0);
        heights.push(height);
        y += height + GAP_Y;
    }
    (middles, heights)
}

/// Leaves the upper state at its bottom, passes the rows, enters the lower one at
/// its top. Edges that share a state leave it side by side. A row is crossed
/// straight: bent, an edge would run behind the boxes beside it.
fn course(chain: &[usize], cells: &[Cell], y: &[f64], heights: &[f64]) -> Vec<Point> {
    let (top, bottom) = (chain[0], chain[chain.len() - 1]);
    let port = |node: usize, near: &[usize], other: usize| {
        let mut sorted: Vec<usize> = near.to_vec();
        sorted.sort_by(|a, b| cells[*a].x.total_cmp(&cells[*b].x));
        let k = sorted.iter().position(|i| *i == other).unwrap_or(0) as f64;
        let spread = 16.0;
        // Closer together where the state is narrow.
        let room = (2.0 * cells[node].size.left - 24.0).max(0.0);
        let spread = f64::min(spread, room / (sorted.len() as f64 - 1.0).max(1.0));
        cells[node].x + (k - (sorted.len() as f64 - 1.0) / 2.0) * spread
    };
    let mut points = vec![Point {
        x: port(top, &cells[top].down, chain[1]),
        y: y[cells[top].rank] + cells[top].size.height / 2.0,
    }];
    for &i in &chain[1..chain.len() - 1] {
        let half = heights[cells[i].rank] / 2.0;
        let centre = y[cells[i].rank];
        points.extend([centre - half, centre + half].map(|y| Point { x: cells[i].x, y }));
    }
    points.push(Point {
        x: port(bottom, &cells[bottom].up, chain[chain.len() - 2]),
        y: y[cells[bottom].rank] - cells[bottom].size.height / 2.0,
    });
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Size {
        Size {
            left: 40.0,
            right: 40.0,
            height: 30.0,
        }
    }

    /// Random graphs: boxes of a row never overlap, every edge goes from its source to its target.
    #[test]
    fn nothing_overlaps() {
        let mut seed = 7u64;
        let mut random = move |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let n = 1 + random(9) as usize;
            let nodes = vec![node(); n];
            let mut edges = Vec::new();
            for _ in 0..random(20) {
                let (from, to) = (random(n as u64) as usize, random(n as u64) as usize);
                if from != to && !edges.iter().any(|e: &EdgeIn| e.from == from && e.to == to) {
                    edges.push(EdgeIn {
                        from,
                        to,
                        label: Size {
                            left: 5.0 + random(100) as f64,
                            right: 5.0 + random(100) as f64,
                            height: 40.0,
                        },
                    });
                }
            }
            let l = layout(&nodes, &edges, 0);
            for (e, r) in edges.iter().zip(&l.edges) {
                let near = |p: Point, node: usize| (p.y - l.nodes[node].y).abs() < 16.0;
                assert!(near(r.points[0], e.from), "an edge begins at its source");
                assert!(
                    near(*r.points.last().unwrap(), e.to),
                    "an edge ends at its target"
                );
            }
            let mut boxes: Vec<(Point, Size)> =
                l.nodes.iter().copied().zip(nodes.iter().copied()).collect();
            boxes.extend(edges.iter().zip(&l.edges).map(|(e, r)| (r.label, e.label)));
            for (i, (p, s)) in boxes.iter().enumerate() {
                assert!(p.x - s.left >= -0.01 && p.x + s.right <= l.width + 0.01);
                for (q, t) in &boxes[i + 1..] {
                    let apart_x = p.x + s.right <= q.x - t.left || q.x + t.right <= p.x - s.left;
                    let apart_y = (p.y - q.y).abs() >= (s.height + t.height) / 2.0;
                    assert!(apart_x || apart_y, "{p:?} {s:?} {q:?} {t:?}");
                }
            }
        }
    }
}
