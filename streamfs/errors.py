"""What goes wrong with data and with the outside world; a caller's slip is a ValueError or a TypeError."""


class StreamfsError(Exception):
    """Root of all errors that streamfs raises about data or the outside world."""


class DataError(StreamfsError, ValueError):
    """Recorded streams that cannot be read, or that do not fit what is asked of them."""


class ModelError(StreamfsError):
    """A model file or a snapshot that is damaged, of another version, or not to be trusted."""


class TrainingError(DataError):
    """Streams from which no procedure can be learnt."""


class PayloadError(StreamfsError):
    """A message whose payload cannot be read."""


class SettingsError(StreamfsError):
    """A file of settings that cannot be read as such, with all that is wrong with it, one thing a line."""


class TransportError(StreamfsError):
    """A broker that cannot be reached or that refuses."""


class StorageError(StreamfsError):
    """A disk that does not take what is to be kept, because it is full or failing; it may be tried again."""


class StateError(StreamfsError):
    """What is kept on disk is in use, damaged, of another version, or does not fit together."""


class LogError(StateError):
    """A log that is damaged, or that lacks what is asked for."""


class MissingExtraError(StreamfsError):
    """A part of streamfs that needs an optional package.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install 'streamfs[{extra}]'")
