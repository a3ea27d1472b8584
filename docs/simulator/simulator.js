"use strict";
/* The page of the simulator: sliders, a table, and charts that follow the colours of the page. */

(async function () {
  const N_TEST = 300, N_NEW = 300, CAPACITY = 21060; // joules: two AA cells, three quarters of which are usable
  const NAMES = { temperature: "temperature", humidity: "humidity", light: "light",
    climate: "temperature and humidity", all: "all three" };
  const COLORS = ["#0072b2", "#d55e00", "#009e73", "#7f7f7f", "#aa4499"];
  const place = document.getElementById("sim");
  const models = await loadModels(MODELS);
  const inputs = [...place.querySelectorAll("input, select")];
  const value = (name) => place.querySelector(`[name=${name}]`).value;
  let world = null;

  const life = (days) => days > 3650 ? "over 10 years" : days > 730 ? `${(days / 365).toFixed(1)} years` : `${days.toFixed(0)} days`;
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const escape = (text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

  function renew() {
    const noise = Number(value("noise"));
    const test = samplePairs(N_TEST, noise, MODELS, 1), fresh = samplePairs(N_NEW, noise, MODELS, 2);
    const run = (streams) => Object.fromEntries(
      Object.entries(models).map(([name, model]) => [name, streams.map((stream) => model(stream.readings))]));
    world = { noise, test, fresh, testCourses: run(test), freshCourses: run(fresh) };
  }

  function show() {
    for (const input of inputs) {
      const output = place.querySelector(`output[for=${input.id}]`);
      if (output) output.textContent = input.name === "promise" ? percent(Number(input.value)) : input.value;
    }
    if (!world || world.noise !== Number(value("noise"))) renew();
    const settings = { prices: { light: Number(value("price")) }, pause: 60 * Number(value("pause")),
      radio: MODELS.radios[value("radio")], period: MODELS.period, capacity: CAPACITY };
    const promise = Number(value("promise"));
    const { rows, best } = choose(world.test, world.testCourses, MODELS.models, promise, settings);
    const everything = batteryOf(MODELS.models.all.columns, MODELS.n_ticks, settings);
    const found = best && evaluate(world.fresh, world.freshCourses[best.name], best.passed.threshold);
    place.querySelector(".said").innerHTML = best
      ? `<strong>Read ${escape(NAMES[best.name])}, and decide at a confidence of ${best.passed.threshold.toFixed(3)}.</strong>
         On ${N_NEW} other streams ${percent(found.completeness)} get a label after ${found.ticks.toFixed(1)} ticks,
         and ${percent(found.accuracy)} of the labels are right. The battery lasts ${life(best.days)};
         sending everything until the time limit, ${life(everything.days)}.`
      : `<strong>Refused:</strong> none of the models can show an accuracy of ${percent(promise)} on ${N_TEST} streams.
         Promise less, or find better sensors.`;
    place.querySelector("tbody").innerHTML = rows.map((row) => `<tr${row === best ? ' class="best"' : ""}>
      <th scope="row">${escape(NAMES[row.name])}</th>` + (row.passed
        ? `<td>${row.passed.threshold.toFixed(3)}</td><td>${percent(row.passed.accuracy)}</td><td>${percent(row.passed.completeness)}</td>
           <td>${row.passed.ticks.toFixed(1)}</td><td>${(1000 * row.joules).toPrecision(3)}</td><td>${life(row.days)}</td>`
        : '<td colspan="6">refused</td>') + "</tr>").join("");
    place.querySelector(".trade-off").innerHTML = tradeOff(settings, promise, best);
    place.querySelector(".course").innerHTML = best ? courseOf(best) : "";
  }

  /* Accuracy over what a stream costs a node, a line for each model, over thresholds. */
  function tradeOff(settings, promise, best) {
    const lines = Object.entries(MODELS.models).map(([name, { columns }]) => ({ name, points:
      [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99].map((threshold) => {
        const found = evaluate(world.fresh, world.freshCourses[name], threshold);
        return [1000 * batteryOf(columns, found.ticks, settings).joules, found.accuracy];
      }).filter(([, accuracy]) => accuracy === accuracy) }));
    const most = Math.max(...lines.flatMap(({ points }) => points.map(([cost]) => cost)));
    const mark = { y: promise, text: "promised" };
    return chart("What accuracy costs", lines.map((line) => ({ ...line, name: NAMES[line.name] })), [0, most], [0.5, 1],
      ["millijoules of a node for a stream", "share of labels that are right"], mark);
  }

  /* Confidence of some streams over ticks, with the threshold of the chosen model. */
  function courseOf(best) {
    const lines = [0, 1, 2, 3].map((index) => {
      const course = world.freshCourses[best.name][index], { tick, label } = decide(course, best.passed.threshold);
      const right = label === world.fresh[index].label ? "rightly" : label < 0 ? "not decided" : "wrongly";
      return { name: `${MODELS.classes[world.fresh[index].label]}: ${right}`,
        points: course.confidence.slice(0, tick).map((confidence, at) => [at + 1, confidence]) };
    });
    const last = Math.max(5, ...lines.map(({ points }) => points.length));
    return chart("How confidence grows: four streams", lines, [1, last], [0.5, 1], ["tick", "confidence"],
      { y: best.passed.threshold, text: "threshold" });
  }

  function chart(title, lines, [left, right], [low, high], [xName, yName], mark) {
    const x = (number) => 60 + 400 * (number - left) / (right - left || 1);
    const y = (number) => 220 - 190 * (Math.max(number, low) - low) / (high - low);
    const ticks = (from, to, n) => Array.from({ length: n + 1 }, (_, i) => from + (to - from) * i / n);
    const text = (at, up, words, anchor = "middle", more = "") =>
      `<text x="${at}" y="${up}" text-anchor="${anchor}" ${more}>${escape(words)}</text>`;
    const parts = ticks(low, high, 5).map((number) => `<line x1="60" x2="460" y1="${y(number)}" y2="${y(number)}"
      stroke="currentColor" stroke-opacity="0.15"/>` + text(54, y(number) + 4, number.toFixed(2), "end"));
    parts.push(...ticks(left, right, 4).map((number) => text(x(number), 236, Number(number.toPrecision(2)))));
    parts.push(text(260, 254, xName), text(14, 125, yName, "middle", 'transform="rotate(-90 14 125)"'));
    lines.forEach(({ name, points }, index) => {
      const color = COLORS[index % COLORS.length], dash = ["", "7 3", "2 3", "9 3 2 3", "4 2"][index % 5];
      const path = points.map(([a, b], at) => `${at ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
      parts.push(`<path d="${path}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`);
      const column = 60 + 200 * (index % 2), row = 274 + 17 * Math.floor(index / 2);
      parts.push(`<line x1="${column}" x2="${column + 24}" y1="${row - 4}" y2="${row - 4}" stroke="${color}"
        stroke-width="2" stroke-dasharray="${dash}"/>` + text(column + 30, row, name, "start"));
    });
    parts.push(`<line x1="60" x2="460" y1="${y(mark.y)}" y2="${y(mark.y)}" stroke="currentColor" stroke-dasharray="3 3"/>`,
      text(458, y(mark.y) - 4, mark.text, "end"));
    return `<figure><figcaption>${escape(title)}</figcaption><svg viewBox="0 0 480 330" role="img"
      aria-label="${escape(title)}" font-size="12" fill="currentColor">${parts.join("")}</svg></figure>`;
  }

  let waiting = null;
  inputs.forEach((input) => input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 60);
  }));
  place.querySelector(".loading").remove();
  show();
})();
