"""Build wheels for aarch64 and armv7 by Zig's compiler, and compare their decisions with those of this machine.

python tests/helpers/cross_wheels.py FOLDER

The wheels are written to FOLDER. Where qemu-user and apt-get are, each is unpacked beside Debian's Python for its
processor, which nothing installs, and decides made-up streams there with the kernels in C: the decisions must be
those of this machine.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np

ROOT = Path(__file__).parents[2]
SYSTEM = (
    "c6",
    "expat1",
    "ssl3",
    "ffi8",
    "bz2-1.0",
    "lzma5",
    "stdc++6",
    "gcc-s1",
    "uuid1",
    "sqlite3-0",
    "blas3",
    "lapack3",
)
PACKAGES = (
    *(f"lib{name}" for name in SYSTEM),
    *(
        "libgfortran5",
        "zlib1g",
        "libpython3.11-minimal",
        "libpython3.11-stdlib",
        "python3.11-minimal",
        "python3-numpy",
    ),
)
PURE = ("lazy_loader", "paho", "click", "rich", "markdown_it", "mdurl", "pygments")
SHORT = ("LONG", "SIZE_T", "VOID_P", "PTHREAD_T", "UINTPTR_T", "TIME_T")
"""Types of eight bytes, of which processors of 32 bits have four."""


class Processor(NamedTuple):
    """Names of a processor, by Python's packages, Zig, Debian and qemu, and the compiler's flags."""

    platform: str
    target: str
    debian: str
    emulator: str
    flags: str = ""


PROCESSORS = (
    Processor("manylinux2014-aarch64", "aarch64-linux-gnu.2.17", "arm64", "qemu-aarch64"),
    Processor("manylinux2014-armv7l", "arm-linux-gnueabihf.2.17", "armhf", "qemu-arm", "-mcpu=cortex_a7"),
)


def built(processor, folder):
    """Build a wheel; return its path."""
    compiler = f"{sys.executable} -m ziglang cc -target {processor.target} -g0"
    flags = processor.flags
    if processor.debian == "armhf":
        headers = folder / "headers"
        shutil.copytree(sysconfig.get_paths()["include"], headers, dirs_exist_ok=True)
        config = (headers / "pyconfig.h").read_text(encoding="utf-8")
        config = re.sub(rf"(#define SIZEOF_(?:{'|'.join(SHORT)})) 8", r"\1 4", config)
        (headers / "pyconfig.h").write_text(config, encoding="utf-8")
        flags = f"-I{headers} {flags}"
    choice = {"CC": compiler, "LDSHARED": f"{compiler} -shared", "CFLAGS": flags}
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        ROOT,
    ]
    environment = {**os.environ, **choice, "_PYTHON_HOST_PLATFORM": processor.platform}
    subprocess.run(command, check=True, env=environment)
    return next(folder.glob(f"*{processor.platform.replace('-', '_')}.whl"))


def unpacked(processor, wheel, folder):
    """Unpack Debian's Python and the wheel, with what it needs; return the folders of both."""
    root, site = folder / processor.debian, folder / f"site-{processor.debian}"
    for each in ("apt/lists/partial", "apt/cache/archives/partial", "debs"):
        (root / each).mkdir(parents=True, exist_ok=True)
    (root / "apt/status").touch()
    kept = {"State": "apt", "State::status": "apt/status", "State::lists": "apt/lists", "Cache": "apt/cache"}
    options = [f"-oDir::{name}={root / path}" for name, path in kept.items()]
    options += [f"-oAPT::Architecture={processor.debian}", f"-oAPT::Architectures={processor.debian}"]
    apt = ["apt-get", "-qq", *options]
    subprocess.run([*apt, "update"], check=False)  # one source that fails is no reason to give up
    subprocess.run([*apt, "download", *PACKAGES], check=True, cwd=root / "debs")
    for package in (root / "debs").glob("*.deb"):
        unpacking = ["dpkg", "-x", package, root]
        subprocess.run(unpacking, check=True)
    tag = processor.platform.replace("-", "_")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "-d",
        folder,
    ]
    subprocess.run([*command, "--platform", tag, "--python-version", "3.11", "orjson"], check=True)
    for file in (wheel, *folder.glob(f"orjson*{tag}*.whl")):
        ZipFile(file).extractall(site)
    for name in PURE:
        shutil.copytree(Path(sysconfig.get_paths()["purelib"], name), site / name, dirs_exist_ok=True)
    return root, site


def decided_there(processor, root, site, folder):
    """Return what the emulated machine prints."""
    libraries = next((root / "usr/lib").glob("*-linux-gnu*"))
    given = {
        "PYTHONHOME": root / "usr",
        "PYTHONPATH": f"{site}:{root / 'usr/lib/python3/dist-packages'}",
        "STREAMFS_KERNELS": "c",
        "LD_LIBRARY_PATH": f"{libraries / 'blas'}:{libraries / 'lapack'}",
    }
    settings = [part for name, value in given.items() for part in ("-E", f"{name}={value}")]
    command = [processor.emulator, "-L", root, *settings, root / "usr/bin/python3.11", __file__, "decide", folder]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def print_decisions(folder):
    """Print what made-up streams are decided, by the kernels in C."""
    from streamfs.engine.engine import Engine  # noqa: PLC0415 - of the environment that this runs in
    from streamfs.procedure.procedure import Procedure  # noqa: PLC0415 - the same

    values = np.random.default_rng(0).normal(1, 1, (60, 12, 2))
    values[values > 2.5] = np.nan
    for path in sorted(folder.glob("*.streamfs")):
        engine = Engine(Procedure.load(path))
        for tick in range(12):
            for stream in range(60):
                if decision := engine.push(str(stream), 0.5 * tick, values[stream, tick]):
                    print(decision)


def write_models(folder):
    """Write a tree and a forest."""
    from helpers.random_models import any_forest, random_procedure  # noqa: PLC0415 - not where it is emulated

    rng = np.random.default_rng(3)
    random_procedure(rng).save(folder / "tree.streamfs")
    random_procedure(rng, any_forest(rng, 5)).save(folder / "forest.streamfs")


def main(folder):
    """Build all wheels, and try those for which there is an emulator."""
    folder.mkdir(parents=True, exist_ok=True)
    write_models(folder)
    here = subprocess.run(
        [sys.executable, __file__, "decide", folder], check=True, capture_output=True, text=True
    ).stdout
    for processor in PROCESSORS:
        wheel = built(processor, folder)
        missing = [name for name in (processor.emulator, "apt-get", "dpkg") if shutil.which(name) is None]
        if missing:
            print(f"{wheel.name}: built; not run, as there is no {missing[0]}")
            continue
        there = decided_there(processor, *unpacked(processor, wheel, folder), folder)
        if there != here:
            raise SystemExit(f"{wheel.name}: decides otherwise than {platform.machine()}")
        print(f"{wheel.name}: built; {len(here.splitlines())} decisions are those of {platform.machine()}")


if __name__ == "__main__":
    if sys.argv[1] == "decide":
        print_decisions(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]).resolve())
