from .cost_aware import train as train
from .models import register_learner as register_learner
from .within import NodeLimits as NodeLimits
from .within import train_within as train_within
