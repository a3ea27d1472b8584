from .batteries import Duty as Duty
from .batteries import life as life
from .costs import Costs as Costs
from .energy import LoRaProfile as LoRaProfile
from .energy import Profile as Profile
from .pricing import Pricing as Pricing
from .radio_profiles import profile as profile
