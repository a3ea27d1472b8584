"""What pricings refuse."""

import pytest

from streamfs import Pricing


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"profile": None}, "profile is None, expected a radio's name or a Profile"),
        ({"a": "x"}, "a is 'x', expected a number"),
        ({"max_silence": "60 s"}, "max_silence is '60 s', expected a number"),
    ],
)
def test_what_is_of_another_type_is_refused(given, message):
    with pytest.raises(TypeError, match=message):
        Pricing(**given)
