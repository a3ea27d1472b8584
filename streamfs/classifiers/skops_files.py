"""Models of scikit-learn as skops packs them: restored from named types, without running code in the file."""

import re
import zipfile
from io import BytesIO
from typing import Any

from streamfs.errors import ModelError

TRUSTED = frozenset(
    {
        "numpy.dtype",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.utils._bunch.Bunch",
    }
)
"""Types that are restored besides those that skops trusts: plain ones, which only hold what is in them.

Trees and neighbours are not among them: theirs are compiled, and fail in any way on numbers that are made up.
"""

LARGEST = 2**28
"""Most bytes that a packed model unpacks to."""

_ADDRESS = re.compile(r'(?<="__id__": )\d+|\d+(?=\.np[yz]")')


def packed(model: Any) -> bytes | None:
    """Return a model as skops packs it; None without skops, or if it would not be restored without trust."""
    try:
        from skops.io import dumps, get_untrusted_types  # noqa: PLC0415 - slow to import
        from skops.io.exceptions import UnsupportedTypeException  # noqa: PLC0415 - the same
    except ModuleNotFoundError:
        return None
    try:
        data = dumps(model)
    except (UnsupportedTypeException, TypeError, ValueError, AttributeError, NotImplementedError):
        return None  # skops raises each of these, and models may as they are packed: such models are pickled
    return _settled(data) if TRUSTED.issuperset(get_untrusted_types(data=data)) else None


def unpacked(data: bytes) -> Any:
    """Return the model that `packed` has packed.

    Raises
    ------
    ModelError
        If skops is missing, or the bytes are none of its, or restore more than `TRUSTED` types.
    """
    try:
        from skops.io import loads  # noqa: PLC0415 - slow to import
    except ModuleNotFoundError as error:
        raise ModelError("the model was packed by skops, which is not installed: pip install skops") from error
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        model = loads(data, trusted=sorted(TRUSTED)) if n_bytes <= LARGEST else None
    except Exception as error:  # the types that it restores raise what they like
        said = str(error).partition("\n")[0]
        raise ModelError(f"the model that skops packed cannot be restored: {said}") from error
    if model is None:
        raise ModelError(f"the model that skops packed unpacks to {n_bytes} bytes, expected at most {LARGEST}")
    return model


def _settled(data: bytes) -> bytes:
    """Return what skops has packed with numbers in place of addresses, and no time: equal models, equal bytes."""
    numbers: dict[str, str] = {}

    def settle(text: str) -> str:
        return _ADDRESS.sub(lambda found: numbers.setdefault(found[0], str(len(numbers))), text)

    result = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        new.writestr(zipfile.ZipInfo("schema.json"), settle(old.read("schema.json").decode()))
        for name in sorted(old.namelist(), key=lambda name: int(numbers.get(name.partition(".")[0], 0))):
            if name != "schema.json":
                new.writestr(zipfile.ZipInfo(settle(f'{name}"')[:-1]), old.read(name))
    return result.getvalue()
