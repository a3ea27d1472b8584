from .procedure import Decision as Decision
from .procedure import Procedure as Procedure
from .stopping import Action as Action
from .stopping import StoppingRule as StoppingRule
from .stopping import TickThresholds as TickThresholds
from .stopping import read_rule as read_rule
from .stopping import register_rule as register_rule
