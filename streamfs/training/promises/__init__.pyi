from .explore import explore as explore
from .promise import Promise as Promise
from .refusal import PromiseError as PromiseError
