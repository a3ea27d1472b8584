"""Which files a recording is in: a file, several, a folder, or a pattern."""

from collections.abc import Iterable, Sequence
from glob import glob, has_magic
from os.path import commonpath
from pathlib import Path

from streamfs.data.recordings.csv_text import AT_ONCE, Start
from streamfs.data.recordings.tables import ENDINGS, EXPECTED, Table, bare_name, ending_of, open_table
from streamfs.errors import DataError


def open_tables(
    paths: str | Path | Iterable[str | Path], without: Iterable[Path] = (), start: Start = AT_ONCE
) -> list[Table]:
    """Open the files of a recording, in the order of their names.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, folders and patterns such as ``runs/*.csv``. Of a folder, all CSV, TSV and Parquet files in it and
        in its folders are read. Both parts of a set of an archive are refused, unless they are named. A path that
        exists is no pattern.
    without : iterable of paths
        Files that are not part of the recording, although they are in its folder.
    start : Start
        Where the tables of CSV files start.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise DataError("there is no file to read: name one, several, a folder, or a pattern")
    files = dict.fromkeys(file for path in given for file in _files(Path(path)))
    for other in filter(Path.exists, without):
        files = {file: None for file in files if not other.samefile(file)}
    return [open_table(file, name, start) for file, name in zip(files, _names([*files]), strict=True)]


def _files(path: Path) -> Sequence[Path]:
    """Return the files that a path names."""
    if path.is_dir():
        found = [file for file in path.rglob("*") if ending_of(file.name) in ENDINGS and _is_shown(file, path)]
        if not found:
            raise DataError(f"{path} has no file of a recording, {EXPECTED}")
        _require_one_part(path, sorted(found))
        return sorted(found)
    if has_magic(str(path)) and not path.exists():
        found = [Path(each) for each in glob(str(path), recursive=True)]  # noqa: PTH207 - Path.glob needs a folder
        if not found:
            raise DataError(f"no file is named like {path}")
        files = sorted(file for each in found for file in _files(each))
        _require_one_part(path, files)
        return files
    if not path.exists():
        raise DataError(f"{path} cannot be read: No such file or directory")
    return [path]


def _require_one_part(source: Path, files: Sequence[Path]) -> None:
    """Refuse a folder or pattern with both parts of a set of an archive, such as Coffee_TRAIN and Coffee_TEST."""
    by_name = {bare_name(str(file)): file for file in files}
    for name, file in by_name.items():
        other = by_name.get(f"{name.removesuffix('_TRAIN')}_TEST")
        if other is not None and name.endswith("_TRAIN"):
            train, test = (str(each.relative_to(source)) if source.is_dir() else each for each in (file, other))
            raise DataError(f"{source} has {train} to train on and {test} to test with: name one of them, or both")


def _is_shown(file: Path, folder: Path) -> bool:
    """Return whether neither a file nor a folder above it is hidden."""
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _names(files: Sequence[Path]) -> list[str]:
    """Return a name for each file: its path without its ending, from the folder that all files are in."""
    if len(files) == 1:
        return [bare_name(files[0].name)]
    top = Path(commonpath([file.absolute().parent for file in files]))
    return [(file.absolute().parent.relative_to(top) / bare_name(file.name)).as_posix() for file in files]
