import { render } from "preact";
import "./core/link.ts"; // before the address is read for what to show
import { followTheme } from "./core/theme.ts";
import { App } from "./shell/app.tsx";

followTheme();
render(<App />, document.getElementById("page")!);
