import { render } from "preact";
import { followTheme } from "./core/theme.ts";
import { App } from "./shell/app.tsx";

followTheme();
render(<App />, document.getElementById("page")!);
