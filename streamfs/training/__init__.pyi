from .cost_aware import register_learner as register_learner
from .cost_aware import train as train
