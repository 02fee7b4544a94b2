// Graphviz. It is built into a file of its own, which changes only with its version.

export { instance, type Viz } from "@viz-js/viz";
