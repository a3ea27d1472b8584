from .cost_aware import train as train
from .models import register_learner as register_learner
from .stream_classifier import StreamClassifier as StreamClassifier
from .stream_classifier import cost_score as cost_score
from .within import NodeLimits as NodeLimits
from .within import train_within as train_within
