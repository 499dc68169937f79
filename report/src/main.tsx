import { render } from "preact";
import { App } from "./app";
import { readReport } from "./data";

const root = document.getElementById("page")!;
root.textContent = "";
render(<App report={readReport(document)} />, root);
document.documentElement.dataset.ready = "true";
