from .engine import Engine as Engine
