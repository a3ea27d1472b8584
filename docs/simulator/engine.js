"use strict";
/* The simulator without its page: a world of pairs of nodes, models in WebAssembly, and what a promise costs. */

const OFFSETS = { temperature: 0.3, humidity: 2.0, light: 30.0 };
const QUANTITIES = {
  temperature: { level: 21, deviation: 1.2, gain: 0.002, noise: 0.15, quantum: 0.0625, bursts: 0 },
  humidity: { level: 45, deviation: 5, gain: 0.005, noise: 0.6, quantum: 0.1, bursts: 0 },
  light: { level: 230, deviation: 60, gain: 0.02, noise: 11, quantum: 1, bursts: 80 },
};
const AWAKE = 0.1; // seconds of a tick, besides messages
const COMMON = 0.3, MEMORY = 1000, BURSTS_A_SECOND = 0.025, DECAY = 20; // seconds

/* Numbers at random from a seed: uniform, normal, exponential, and Poisson of a small mean. */
function randomFrom(seed) {
  let state = seed >>> 0;
  function uniform() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const exponential = () => -Math.log(1 - uniform());
  function poisson(mean) {
    let number = 0;
    for (let left = exponential(); left < mean; left += exponential()) number++;
    return number;
  }
  return { uniform, normal, exponential, poisson };
}

/* A place's readings of a quantity without its sensor: slow changes, and for light bursts that decay. */
function process(quantity, period, nTicks, random) {
  const kept = Math.exp(-period / MEMORY), decayed = Math.exp(-period / DECAY);
  let slow = 0, burst = 0;
  return Array.from({ length: nTicks }, (_, tick) => {
    slow = tick ? kept * slow + quantity.deviation * Math.sqrt(1 - kept * kept) * random.normal()
      : quantity.deviation * random.normal();
    if (quantity.bursts) {
      let more = tick ? 0 : random.normal() ** 2 / 2;
      for (let n = tick ? random.poisson(BURSTS_A_SECOND * period) : 0; n > 0; n--) more += random.exponential();
      burst = decayed * burst + quantity.bursts * more;
    }
    return slow + burst;
  });
}

/* Pairs of nodes at one place (class 1) or two (class 0): readings by column, over ticks. */
function samplePairs(nPairs, noise, { period, n_ticks: nTicks }, seed) {
  const random = randomFrom(seed);
  return Array.from({ length: nPairs }, (_, index) => {
    const label = index % 2, readings = {};
    for (const [name, quantity] of Object.entries(QUANTITIES)) {
      const building = process(quantity, period, nTicks, random), own = process(quantity, period, nTicks, random);
      const other = label ? own : process(quantity, period, nTicks, random);
      [["a", own], ["b", other]].forEach(([role, place]) => {
        const gain = 1 + quantity.gain * random.normal(), offset = OFFSETS[name] * random.normal();
        readings[`${role}.${name}`] = place.map((value, tick) => {
          const truth = quantity.level + Math.sqrt(COMMON) * building[tick] + Math.sqrt(1 - COMMON) * value;
          const seen = gain * truth + offset + noise * quantity.noise * random.normal();
          return Math.round(seen / quantity.quantum) * quantity.quantum;
        });
      });
    }
    return { label, readings };
  });
}

/* Load the models: each becomes a function from readings to class and confidence at each tick. */
async function loadModels(found) {
  const bytes = Uint8Array.from(atob(found.wasm), (letter) => letter.charCodeAt(0));
  const { exports } = (await WebAssembly.instantiate(bytes, {})).instance;
  if (exports._initialize) exports._initialize();
  const view = (Type, place, length) => new Type(exports.memory.buffer, place(), length);
  const models = {};
  for (const [name, { columns }] of Object.entries(found.models)) {
    models[name] = (readings) => {
      const nTicks = Math.min(readings[columns[0]].length, found.n_ticks);
      const rows = view(Float64Array, exports.place_of_readings, nTicks * columns.length);
      for (let tick = 0; tick < nTicks; tick++)
        columns.forEach((column, place) => { rows[tick * columns.length + place] = readings[column][tick]; });
      const confidence = view(Float64Array, exports.place_of_confidence, nTicks);
      const labels = view(Int32Array, exports.place_of_labels, nTicks);
      const taken = exports[`${name}_run`](rows.byteOffset, nTicks, confidence.byteOffset, labels.byteOffset);
      return { confidence: Array.from(confidence.subarray(0, taken)), labels: Array.from(labels.subarray(0, taken)) };
    };
  }
  return models;
}

/* The decision of a stream at a threshold: the first tick (from 1) that is confident enough; label -1 if none is. */
function decide(course, threshold) {
  const at = course.confidence.findIndex((confidence) => confidence >= threshold);
  return at < 0 ? { label: -1, tick: course.confidence.length }
    : { label: course.labels[at], tick: at + 1, confidence: course.confidence[at] };
}

/* How streams do at a threshold. */
function evaluate(streams, courses, threshold) {
  let labelled = 0, right = 0, ticks = 0;
  streams.forEach((stream, index) => {
    const decision = decide(courses[index], threshold);
    ticks += decision.tick;
    if (decision.label >= 0) labelled++;
    if (decision.label === stream.label) right++;
  });
  const n = streams.length;
  return { threshold, labelled, right, completeness: labelled / n, accuracy: right / labelled, ticks: ticks / n };
}

/* The probability of so few wrong labels or fewer, of n, if the accuracy were just not kept (binomial). */
function chanceOfSoFew(wrong, n, accuracy) {
  let term = n * Math.log(accuracy), sum = Math.exp(term);
  for (let k = 1; k <= wrong; k++) {
    term += Math.log((n - k + 1) / k) + Math.log((1 - accuracy) / accuracy);
    sum += Math.exp(term);
  }
  return Math.min(1, sum);
}

/* Test thresholds from the strictest to the loosest until one fails; return the last that passes, or null. Those that
   label too few streams to pass, even if none were wrong, are left out. */
function certify(streams, courses, promise, risk) {
  let passed = null;
  for (let threshold = 0.995; threshold > 0.5; threshold -= 0.005) {
    const found = evaluate(streams, courses, threshold);
    if (chanceOfSoFew(0, found.labelled, promise) > risk) continue;
    if (chanceOfSoFew(found.labelled - found.right, found.labelled, promise) > risk) break;
    passed = found;
  }
  return passed;
}

/* What an episode costs a node on average, in joules, and how many days its battery lasts. */
function batteryOf(columns, ticks, { prices, pause, radio, period, capacity }) {
  const quantities = columns.filter((column) => column.startsWith("a.")).map((column) => column.slice(2));
  const messages = quantities.reduce((sum, name) => sum + ticks * (prices[name] ?? 1), 0);
  const joules = messages * radio.message + ticks * radio.tick + radio.control;
  const episodes = 86400 / (ticks * period + pause);
  const asleep = 86400 - episodes * ticks * AWAKE;
  return { joules, days: capacity / (episodes * joules + asleep * radio.sleep) };
}

/* Certify each model on test streams, and find the one whose battery lasts longest; the risk is divided among them. */
function choose(test, courses, models, promise, settings, risk = 0.05) {
  const names = Object.keys(models);
  const rows = names.map((name) => {
    const passed = certify(test, courses[name], promise, risk / names.length);
    return { name, passed, ...(passed && batteryOf(models[name].columns, passed.ticks, settings)) };
  });
  const certified = rows.filter((row) => row.passed).sort((one, other) => other.days - one.days);
  return { rows, best: certified[0] ?? null };
}

if (typeof module !== "undefined")
  module.exports = { samplePairs, loadModels, decide, evaluate, chanceOfSoFew, certify, batteryOf, choose };
