from .cost_aware import train as train
from .models import register_learner as register_learner
