"""Workers that see nothing of this process but what travels to them."""

import cloudpickle


class Elsewhere:
    """Workers to which functions, parts and results travel as bytes."""

    n = 3

    def __init__(self):
        self.functions = []

    def map(self, function, parts):
        self.functions.append(type(function).__name__)
        there = cloudpickle.loads(cloudpickle.dumps(function))
        for part in parts:
            yield cloudpickle.loads(cloudpickle.dumps(there(cloudpickle.loads(cloudpickle.dumps(part)))))
