from .training import train as train
