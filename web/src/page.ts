// The live page of a session.

import { startControls } from "./controls.js";
import { byId, setText } from "./dom.js";
import { startDetail } from "./detail.js";
import { startGraph } from "./graph.js";
import { listen } from "./net.js";
import { startProgram } from "./program.js";
import { startSlices } from "./slices.js";
import { store } from "./store.js";
import { startTimeline } from "./timeline.js";

startControls();
startGraph();
startSlices();
startDetail();
startProgram();
startTimeline();

listen(
  (message) => store.apply(message),
  (connected) => {
    const link = byId("link");
    link.classList.toggle("off", !connected);
    setText(link, connected ? "live" : "no connection");
    store.connect(connected);
  },
);
