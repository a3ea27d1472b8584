from .cost_aware import train as train
