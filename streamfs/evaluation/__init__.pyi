from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation import replay as replay
from .evaluation import sweep as sweep
from .model_card import facts as facts
from .model_card import markdown as markdown
from .reliability import reliability as reliability
from .traffic import measure_traffic as measure_traffic
