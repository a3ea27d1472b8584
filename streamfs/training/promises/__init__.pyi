from .explore import explore as explore
from .promise import Promise as Promise
from .promised import train_promised as train_promised
from .recertified import recertify as recertify
from .refusal import PromiseError as PromiseError
from .search_settings import SearchSettings as SearchSettings
