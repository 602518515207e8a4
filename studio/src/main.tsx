import { render } from "preact";
import { App } from "./App";
import { warmPieces } from "./board/warmPieces";
import { begin } from "./store";
import "./style.css";
import "./views.css";

begin();
const root = document.getElementById("root");
if (root) render(<App />, root);
warmPieces();
