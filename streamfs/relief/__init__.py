"""Relief and StreamRelief: how well features tell classes apart, at once and as time passes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
