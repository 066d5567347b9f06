import { tidyUp } from "./tidy.ts";

tidyUp();
