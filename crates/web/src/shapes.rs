//! What does not change about the properties: their graphs and names.

use crate::Page;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use verde_graph::live::{LiveEdge, live};
use verde_property::Property;

#[derive(Serialize)]
pub struct Shape {
    name: String,
    file: String,
    dot: String,
    states: Vec<StateShape>,
    edges: Vec<LiveEdge>,
    slice_on: Vec<String>,
    env: Vec<String>,
}

#[derive(Serialize)]
struct StateShape {
    name: String,
    accepting: bool,
    r#final: bool,
    verdict: &'static str,
}

fn shape(p: &Property) -> Shape {
    let live = live(p);
    let states = p.states.iter().map(|s| StateShape {
        name: s.name.clone(),
        accepting: s.accepting,
        r#final: s.is_final,
        verdict: s.verdict.word(),
    });
    Shape {
        name: p.name.clone(),
        file: p.source.name.clone(),
        dot: live.dot,
        states: states.collect(),
        edges: live.edges,
        slice_on: p.slice_on.clone(),
        env: p.env.clone(),
    }
}

pub async fn properties(State(page): State<Arc<Page>>) -> Json<Vec<Shape>> {
    let properties = page.board.properties();
    Json(properties.iter().map(|p| shape(p)).collect())
}
