// Run the simulator's models on streams, and write class, tick and confidence of each decision.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [folder, input] = process.argv.slice(2);
const found = vm.runInNewContext(fs.readFileSync(path.join(folder, "models.js"), "utf8") + "; MODELS");
const { loadModels, decide } = require(path.resolve(folder, "engine.js"));
const { streams, thresholds } = JSON.parse(fs.readFileSync(input, "utf8"));
loadModels(found).then((models) => {
  const decided = {};
  for (const [name, model] of Object.entries(models))
    decided[name] = thresholds.map((threshold) => streams.map((stream) => decide(model(stream), threshold)));
  process.stdout.write(JSON.stringify(decided));
});
