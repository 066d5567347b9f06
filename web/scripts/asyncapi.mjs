// Holds api/asyncapi.yaml against the AsyncAPI parser's rules: no error, no warning.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const source = readFileSync(new URL("../../api/asyncapi.yaml", import.meta.url), "utf8");
const { document, diagnostics } = await new Parser().parse(source);
const warning = 1;
const faults = diagnostics.filter((d) => d.severity <= warning);
for (const d of faults) console.error(`api/asyncapi.yaml:${d.range.start.line + 1}: ${d.code}: ${d.message}`);
if (faults.length > 0 || document?.version() !== "3.0.0" || document.allMessages().length === 0) process.exit(1);
