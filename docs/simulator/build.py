"""Make the models of the simulator: train them, and compile their C to WebAssembly.

    python docs/simulator/build.py

Needs `pip install ziglang`. Writes the model files and `models.js`, which are committed.
"""

import base64
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs import Procedure, StreamSet, train
from streamfs.costs import profile
from streamfs.costs.rates import Rates
from streamfs.training.learners import forest_learner
from streamfs.translation.model import columns_of, translate

HERE = Path(__file__).parent
PERIOD, N_TICKS, N_PAIRS = 60.0, 60, 400
SUBSETS = {
    "temperature": ("temperature",),
    "humidity": ("humidity",),
    "light": ("light",),
    "climate": ("temperature", "humidity"),
    "all": ("temperature", "humidity", "light"),
}
"""What each model reads of both nodes."""

RADIOS = ("sx1276_lora_sf9", "cc2420", "nrf52840_ble")
KINDS = ("mean_absolute_difference", "mean_difference", "correlation", "deviation_difference")
N_TREES, MIN_LEAF = 16, 4.0

WRAPPER = """
#include "{name}.c"
static {name}_stream {name}_one;
/* Take a stream's ticks; write the likeliest class and its probability at each, and return how many were taken. */
int32_t {name}_run(const double *readings, int32_t n_ticks, double *confidence, int32_t *label) {{
  double likelihood;
  int32_t t;
  {name}_begin(&{name}_one);
  for (t = 0; t < n_ticks && {name}_one.answer == -1; t++) {{
    {name}_take(&{name}_one, readings + t * {n_columns}, confidence + t);
    label[t] = ask({name}_one.values, &likelihood);
  }}
  return t;
}}
"""
MEMORY = """
static double readings[{most_columns} * {n_ticks}], confidence[{n_ticks}];
static int label[{n_ticks}];
double *place_of_readings(void) {{ return readings; }}
double *place_of_confidence(void) {{ return confidence; }}
int *place_of_labels(void) {{ return label; }}
"""


def main() -> None:
    """Train what is not there, and write `models.js`."""
    models = {name: _model(name, quantities) for name, quantities in SUBSETS.items()}
    found = {
        "period": PERIOD,
        "n_ticks": N_TICKS,
        "classes": list(models["all"].classes),
        "models": {name: {"columns": columns_of(model)} for name, model in models.items()},
        "radios": {name: _radio(name) for name in RADIOS},
        "wasm": base64.b64encode(_compiled(models)).decode(),
    }
    text = json.dumps(found, indent=1)
    (HERE / "models.js").write_text(f"var MODELS = {text};\n", encoding="utf-8")
    print(f"wrote models.js, {len(text) / 1000:.0f} kB")  # noqa: T201 - a command


def _model(name: str, quantities: tuple[str, ...]) -> Procedure:
    """Return the model of a subset, from its file if it is there."""
    path = HERE / f"{name}.streamfs"
    if not path.exists():
        streams = StreamSet(*SameSource().uncalibrated().sample(N_PAIRS, N_TICKS, PERIOD))
        features = [fx.get(f"{kind}(a.{quantity}, b.{quantity})") for quantity in quantities for kind in KINDS]
        learn = forest_learner(MIN_LEAF, N_TICKS, seed=0, n_trees=N_TREES)
        model = train(streams, features=[fx.get("count()"), *features], classifier=learn, select=None)
        model.with_confidence(1.0).save(path)
    return Procedure.load(path)


def _radio(name: str) -> dict[str, float]:
    """Return what a node pays with a radio: for a message, a tick, an episode's control messages; and asleep, in watts."""
    radio = profile(name)
    return {**Rates.of(radio, PERIOD)._asdict(), "sleep": radio.rest_joules(sleep=1.0)}


def _compiled(models: dict[str, Procedure]) -> bytes:
    """Return the models in one file of WebAssembly."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for name, model in models.items():
            sources = translate(model, name)
            (place / f"{name}.h").write_text(sources.header, encoding="utf-8")
            (place / f"{name}.c").write_text(sources.body, encoding="utf-8")
            wrapper = WRAPPER.format(name=name, n_columns=len(columns_of(model)))
            (place / f"run_{name}.c").write_text(wrapper, encoding="utf-8")
        most = max(len(columns_of(model)) for model in models.values())
        (place / "memory.c").write_text(MEMORY.format(most_columns=most, n_ticks=N_TICKS), encoding="utf-8")
        exported = [
            *(f"{name}_run" for name in models),
            *(f"place_of_{each}" for each in ("readings", "confidence", "labels")),
        ]
        command = [
            sys.executable,
            "-m",
            "ziglang",
            "cc",
            "-target",
            "wasm32-wasi",
            "-mexec-model=reactor",
            "-Os",
            "-s",
        ]
        command += ["-ffp-contract=off", *(f"-Wl,--export={each}" for each in exported), "-o", "models.wasm"]
        subprocess.run([*command, "memory.c", *(f"run_{name}.c" for name in models)], cwd=place, check=True)  # noqa: S603
        return (place / "models.wasm").read_bytes()


if __name__ == "__main__":
    main()
