"""The token that lets people act from the page."""

from streamfs.base.plain_files import read_text
from streamfs.errors import SettingsError
from streamfs.gateway.settings.settings import Settings

_SHORTEST = 16  # characters


def read_token(settings: Settings) -> str | None:
    """Return the token that the settings name, None if they name none; raise a SettingsError if it is unfit."""
    if settings.http is None or settings.http.token is None:
        return None
    path, where = settings.http.token, settings.where("http", "token")
    try:
        token = read_text(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{where}: http.token: {path} cannot be read: {error}") from error
    if len(token) < _SHORTEST:
        raise SettingsError(
            f"{where}: http.token: {path} has {len(token)} characters, expected {_SHORTEST} or more"
        )
    return token
