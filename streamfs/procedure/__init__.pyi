from .procedure import Decision as Decision
from .procedure import Procedure as Procedure
from .stopping import TickThresholds as TickThresholds
