import { render } from "preact";
import { App } from "./App";
import { begin } from "./store";
import "./style.css";
import "./views.css";

begin();
const root = document.getElementById("root");
if (root) render(<App />, root);
