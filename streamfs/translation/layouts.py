"""Where the files of a model in C stand for a build system, and the files that this needs beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from types import MappingProxyType

from streamfs.translation.parts import Sources


@dataclass(frozen=True)
class BuildLayout:
    """Folders of the model's files and of its test, and texts of other files by their paths; $name stands in both.

    Parameters
    ----------
    sources, test : str
        Folders, relative to that of the export.
    others : mapping of str to str
        Texts by paths.
    """

    sources: str = "."
    test: str = "."
    others: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def sources_from_test(self, name: str) -> str:
        """Return the folder of the model's files, as seen from that of the test."""
        folder = Template(self.sources).substitute(name=name)
        return "." if self.test == "." else f"../{folder}"

    def files(self, sources: Sources, period: float, columns: Sequence[str]) -> dict[str, str]:
        """Return the files' texts by their paths, but for the test."""
        names = {
            "name": sources.name,
            "upper": sources.name.upper(),
            "camel": "".join(map(str.capitalize, sources.name.split("_"))),
            "period": f"{period:g}",
            "milliseconds": str(max(1, round(1000 * period))),
            "columns": ", ".join(map(_quoted, columns)),
            "sensors": "".join(f"  - platform: template\n    id: reading_{k}\n" for k in range(len(columns))),
            "readings": "".join(f"      {_quoted(column)}: reading_{k}\n" for k, column in enumerate(columns)),
        }
        own = {f"{sources.name}.h": sources.header, f"{sources.name}.c": sources.body}
        folder = Template(self.sources).substitute(names)
        return {
            **{file if folder == "." else f"{folder}/{file}": text for file, text in own.items()},
            **{
                Template(path).substitute(names): Template(text).substitute(names)
                for path, text in self.others.items()
            },
        }


def _quoted(text: str) -> str:
    """Return a text as Python and YAML have it."""
    plain = "".join(sign if " " <= sign <= "~" and sign not in '"\\' else f"\\u{ord(sign):04x}" for sign in text)
    return f'"{plain}"'


_ARDUINO = {
    "library.properties": """\
name=$name
version=1.0.0
author=streamfs
maintainer=streamfs
sentence=Decides what a stream of readings is.
paragraph=A model of streamfs: report policies, features, classifier and stopping rule.
category=Data Processing
url=https://example.org
architectures=*
includes=$name.h
""",
    "examples/decide/decide.ino": """\
// Read sensors once a tick, and print the decision.
#include <$name.h>

static ${name}_stream stream;
static unsigned long next_tick;

void setup() {
  Serial.begin(9600);
  ${name}_begin(&stream);
  next_tick = millis();
}

// The reading of a column of ${name}_columns; NAN if there is none. Put your sensors here.
static ${name}_real reading_of(int column) {
  return analogRead(A0 + column);
}

void loop() {
  if ((long)(millis() - next_tick) < 0) {
    return;
  }
  next_tick += ${milliseconds}UL;
  ${name}_real readings[${upper}_N_COLUMNS];
  for (int column = 0; column < ${upper}_N_COLUMNS; column++) {
    readings[column] = reading_of(column);
  }
  int32_t answer = ${name}_take(&stream, readings, 0);
  if (answer == ${upper}_WAIT) {
    return;
  }
  Serial.println(answer >= 0 ? ${name}_classes[answer] : "no label");
  ${name}_begin(&stream);
}
""",
}

_ESPHOME = {
    "components/$name/__init__.py": '"""A model of streamfs, as a text sensor."""\n',
    "components/$name/text_sensor.py": '''\
"""A text sensor that decides what the readings of other sensors are."""

import esphome.codegen as cg
import esphome.config_validation as cv
from esphome.components import sensor, text_sensor

COLUMNS = ($columns,)
CONF_READINGS = "readings"

${camel}TextSensor = cg.esphome_ns.namespace("$name").class_(
    "${camel}TextSensor", text_sensor.TextSensor, cg.PollingComponent
)

CONFIG_SCHEMA = (
    text_sensor.text_sensor_schema(${camel}TextSensor)
    .extend(
        {
            cv.Required(CONF_READINGS): cv.Schema(
                {cv.Required(column): cv.use_id(sensor.Sensor) for column in COLUMNS}
            )
        }
    )
    .extend(cv.polling_component_schema("${milliseconds}ms"))
)


async def to_code(config):
    var = await text_sensor.new_text_sensor(config)
    await cg.register_component(var, config)
    for place, column in enumerate(COLUMNS):
        reading = await cg.get_variable(config[CONF_READINGS][column])
        cg.add(var.set_reading(place, reading))
''',
    "components/$name/${name}_text_sensor.h": """\
#pragma once

#include "esphome/components/sensor/sensor.h"
#include "esphome/components/text_sensor/text_sensor.h"
#include "esphome/core/component.h"

#include "$name.h"

namespace esphome {
namespace $name {

/* Publishes the decision of an episode; then rests until begin() is called. */
class ${camel}TextSensor : public text_sensor::TextSensor, public PollingComponent {
 public:
  void set_reading(int column, sensor::Sensor *reading) { this->readings_[column] = reading; }
  void begin() { ${name}_begin(&this->stream_); }
  void setup() override { this->begin(); }
  void update() override;

 protected:
  sensor::Sensor *readings_[${upper}_N_COLUMNS]{};
  ${name}_stream stream_{};
};

}  // namespace $name
}  // namespace esphome
""",
    "components/$name/${name}_text_sensor.cpp": """\
#include "${name}_text_sensor.h"

namespace esphome {
namespace $name {

void ${camel}TextSensor::update() {
  if (this->stream_.answer != ${upper}_WAIT) {
    return;
  }
  ${name}_real readings[${upper}_N_COLUMNS];
  for (int column = 0; column < ${upper}_N_COLUMNS; column++) {
    readings[column] = this->readings_[column]->state;
  }
  int32_t answer = ${name}_take(&this->stream_, readings, nullptr);
  if (answer >= 0) {
    this->publish_state(${name}_classes[answer]);
  } else if (answer != ${upper}_WAIT) {
    this->publish_state("");
  }
}

}  // namespace $name
}  // namespace esphome
""",
    "example.yaml": """\
# One tick is ${period} s: leave update_interval of the text sensor as it is.
esphome:
  name: decides

host:

external_components:
  - source:
      type: local
      path: components

sensor:
$sensors
text_sensor:
  - platform: $name
    name: Decision
    id: decision
    readings:
$readings
interval:
  - interval: 60s # a new episode, whenever the node shall decide again
    then:
      - lambda: id(decision).begin();
""",
}

_ZEPHYR = {
    "zephyr/module.yml": "name: $name\nbuild:\n  cmake: .\n  kconfig: Kconfig\n",
    "CMakeLists.txt": """\
if(CONFIG_${upper})
  zephyr_include_directories(src)
  zephyr_library_named($name)
  zephyr_library_sources(src/$name.c)
  # A multiplication and an addition in one would round otherwise, and change decisions.
  zephyr_library_compile_options(-ffp-contract=off)
endif()
""",
    "Kconfig": """\
config ${upper}
\tbool "Model $name of streamfs"
\tselect REQUIRES_FULL_LIBC
\thelp
\t  Decides what a stream of readings is.
""",
    "sample/CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.20.0)
list(APPEND EXTRA_ZEPHYR_MODULES $${CMAKE_CURRENT_SOURCE_DIR}/..)
find_package(Zephyr REQUIRED HINTS $$ENV{ZEPHYR_BASE})
project(decide)
target_sources(app PRIVATE src/main.c)
""",
    "sample/prj.conf": "CONFIG_${upper}=y\nCONFIG_FPU=y # leave it out where there is no such unit\n",
    "sample/src/main.c": """\
/* Read sensors once a tick, and print the decision. */
#include <$name.h>
#include <math.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

/* The reading of a column of ${name}_columns; NAN if there is none. Put your sensors here. */
static ${name}_real reading_of(int column) {
  (void)column;
  return NAN;
}

int main(void) {
  static ${name}_stream stream;
  int32_t answer = ${upper}_WAIT;
  ${name}_begin(&stream);
  while (answer == ${upper}_WAIT) {
    ${name}_real readings[${upper}_N_COLUMNS];
    int column;
    for (column = 0; column < ${upper}_N_COLUMNS; column++) {
      readings[column] = reading_of(column);
    }
    answer = ${name}_take(&stream, readings, 0);
    k_msleep($milliseconds);
  }
  printk("%s\\n", answer >= 0 ? ${name}_classes[answer] : "no label");
  return 0;
}
""",
}

LAYOUTS = {
    "c": BuildLayout(),
    "arduino": BuildLayout("src", "extras", _ARDUINO),
    "esphome": BuildLayout("components/$name", "test", _ESPHOME),
    "zephyr": BuildLayout("src", "test", _ZEPHYR),
}
"""The layouts of targets in C, by their names."""
