// Read priming scripts with the origin's own reader: a JSON list of texts comes in, a list of records or errors goes out.
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const place = join(import.meta.dirname, "origin");
const require = createRequire(join(place, "package.json"));

// The origin's kernel is published to nobody: its numbers are checked here as it checks them.
function count(least) {
  return (value) => {
    if (!Number.isFinite(value) || value < least) throw new Error(`Invalid number: ${String(value)}`);
    return Math.floor(value);
  };
}
const anything = () => new Proxy({}, { get: (_, name) => (name === "__esModule" ? true : () => undefined) });
const storage = new Proxy(
  {},
  {
    get(_, name) {
      if (name === "toRootGenerationAnchor") {
        return ({ rootCourse, rootGenseq }) => ({ rootCourse: count(1)(rootCourse), rootGenseq: count(0)(rootGenseq) });
      }
      return count(/Course/.test(String(name)) ? 1 : 0);
    },
  },
);
const load = Module._load;
Module._load = function (request, parent, isMain) {
  if (request === "@longrun-ai/kernel/types/storage") return storage;
  if (request.startsWith("@longrun-ai/")) return anything();
  // What a reader of scripts does not need: dialogs on disk, reminders in force, tools.
  if (/^\.\/(persistence|shared-reminders|tool|tools\/registry)$/.test(request)) return anything();
  return load.call(this, request, parent, isMain);
};
const priming = require(join(place, "node_modules/dominds/dist/priming.js"));

let input = "";
for await (const piece of process.stdin) input += piece;
const root = mkdtempSync(join(tmpdir(), "origin-"));
mkdirSync(join(root, ".minds/priming/individual/ux"), { recursive: true });
process.chdir(root);
const answers = [];
for (const [number, text] of JSON.parse(input).entries()) {
  writeFileSync(join(root, `.minds/priming/individual/ux/s${number}.md`), text);
  try {
    const { summary, records } = await priming.loadPrimingScriptByRef(`individual/ux/s${number}`, "ux");
    answers.push({ title: summary.title ?? null, records });
  } catch (error) {
    answers.push({ error: String(error.message) });
  }
}
process.chdir(tmpdir());
rmSync(root, { recursive: true });
process.stdout.write(JSON.stringify(answers));
