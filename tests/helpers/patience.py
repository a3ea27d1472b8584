"""What should be refused at once, and not be waited for."""

from threading import Thread

import pytest

from streamfs.errors import StreamfsError

PATIENCE = 20.0  # seconds


def refusal(call, *args):
    """Return the text of the error that a call is refused with; fail if it goes on without end."""
    refused = []

    def run():
        with pytest.raises((StreamfsError, OSError)) as error:
            call(*args)
        refused.append(str(error.value))

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert refused, "it has not ended"
    return refused[0]
