"""The generator splitmix64: random numbers that are the same in any thread, from one number of state."""

import numpy as np
import numpy.typing as npt

from streamfs.base._compiled import kernel

Generator = npt.NDArray[np.uint64]
"""The state, shape (1,)."""

STEP, FIRST_FACTOR, SECOND_FACTOR = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@kernel
def uniform(generator: Generator) -> float:
    """Draw a number in [0, 1)."""
    generator[0] += STEP
    bits = generator[0]
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST_FACTOR
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND_FACTOR
    bits ^= bits >> np.uint64(31)
    return float(bits >> np.uint64(11)) * 2.0**-53
