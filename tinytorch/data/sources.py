# Generated from modules/08_dataloader/sources_dev.py by tito export. Edit the lesson, not this file.
# source sha256 6dec24a20ecf16c28abeb29e04995740acbc6f1b1533ce3c100bc6efd103b776  body sha256 c9ca2992f49e99ba8954654657cea7ed1ba6fbc8f28fd4e2d89ba24fff157bf1  # noqa: E501
"""data.sources: built in module 08_dataloader."""

import gzip
import hashlib
import os
import struct
import sys
import zlib
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np

__all__ = [
    "DataFile", "blocks", "cache_folder", "content", "damaged", "fetch", "find", "folder_of",
    "home", "look", "package_folder", "places", "read_csv", "read_idx", "receive", "size_text",
]


@dataclass(frozen=True)
class DataFile:
    """One file of a data set: how to find it, and how to know that it is the right one.

    name: its path below a root, "MNIST/raw/t10k-labels-idx1-ubyte.gz". md5: of its content, unpacked; "" if
    the reader has a check of its own. packages: the name of a package -> the file's path in it. folders:
    where a system package puts it. mirrors: addresses of folders that offer it, the best first. size: in
    bytes, as the mirrors have it. advice: ways to get it, a line each.
    """
    name: str
    md5: str = ""
    packages: dict = field(default_factory=dict)
    folders: tuple = ()
    mirrors: tuple = ()
    size: int = 0
    advice: tuple = ()

    @property
    def base(self): return self.name.rpartition("/")[2]


def cache_folder():
    """Where downloads are kept: the environment's TINYTORCH_DATA, else a folder of the user's cache."""
    chosen = os.environ.get("TINYTORCH_DATA")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.join(os.path.expanduser(base), "tinytorch")


def package_folder(name):
    """The folder of an installed package, found without importing it; None if it is not installed."""
    try:
        spec = find_spec(name)
    except ValueError:                                 # in sys.modules, and without a spec
        return None
    folders = spec and spec.submodule_search_locations      # None for a single file
    return os.path.abspath(folders[0]) if folders else None


def places(file, root=None):
    """The paths at which `find` looks for a file, in order.

    The root and the file's own folder below it; `datasets` beside the package tinytorch, which is the
    course's; packages; folders of the system; the cache.
    """
    below, found = file.name.split("/"), []
    if root is not None:
        found += [os.path.join(folder_of(root), file.base), os.path.join(folder_of(root), *below)]
    found.append(os.path.join(os.path.dirname(package_folder("tinytorch")), "datasets", *below))
    for name, inside in file.packages.items():
        folder = package_folder(name)
        found.append(os.path.join(folder, *inside.split("/")) if folder
                     else f"the package {name} (not installed)")
    found += [os.path.join(folder, file.base) for folder in file.folders]
    found.append(os.path.join(cache_folder(), *below))
    return list(dict.fromkeys(found))


def look(file, root=None):
    """The path of a file that is on this machine, or None."""
    for place in places(file, root):
        for path in (place, place.removesuffix(".gz")):
            if os.path.isfile(path):
                return path
    return None


def find(file, root=None, download=False, instead_of=()):
    """The path of a file, fetched if it is nowhere and `download` says so.

    instead_of: files that were looked for before, for the message. Raises FileNotFoundError that lists
    every place and every way out; ConnectionError if no mirror could give it.
    """
    path = look(file, root)
    if path:
        return path
    if download and file.mirrors:
        return fetch(file, root)
    files = [*instead_of, file]
    looked = [place for one in files for place in places(one, root)]
    ways = list(dict.fromkeys([way for one in files for way in one.advice]))
    if file.mirrors:
        ways.append(f"download=True    ({size_text(file.size)} from {file.mirrors[0]} to {home(file, root)})")
    ways.append("root=FOLDER    (a folder of yours that holds it)")
    raise FileNotFoundError("\n".join([
        f"{file.base} is not on this machine. It was looked for, packed or not, at:",
        *(f"  {place}" for place in looked), "Ways to get it:", *(f"  {way}" for way in ways)]))


def home(file, root=None):
    """The folder that a download of this file goes to: as torchvision arranges a root."""
    return os.path.dirname(os.path.join(folder_of(root), *file.name.split("/")))


def folder_of(root):
    return cache_folder() if root is None else os.path.abspath(os.path.expanduser(os.fspath(root)))


def size_text(size): return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def fetch(file, root=None):
    """Download a file from the first mirror that has it; the path. Shows a bar on a terminal.

    Raises ConnectionError that says what each mirror answered, or OSError if it cannot be written.
    """
    os.makedirs(home(file, root), exist_ok=True)
    path, failures = os.path.join(home(file, root), file.base), []
    for mirror in file.mirrors:
        url = mirror.rstrip("/") + "/" + file.base
        try:
            receive(url, path + ".part", file.size)
            content(path + ".part", file.md5)
        except ConnectionError as error:
            failures.append(f"{url}: {error}")
        except RuntimeError:                           # from `content`
            os.replace(path + ".part", path + ".wrong")
            failures.append(f"{url}: another file than expected came; it is kept as {path}.wrong")
        else:
            os.replace(path + ".part", path)
            return path
    raise ConnectionError("\n".join([
        f"{file.base} could not be downloaded:", *(f"  {line}" for line in failures),
        "Try again later: what has come is kept, and the next attempt goes on from there.",
        *file.advice]))


def receive(url, path, size):
    """Write what a server sends to `path`, of which the beginning may be there already."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    from tqdm import tqdm
    have = os.path.getsize(path) if os.path.isfile(path) else 0
    if have >= size:                                   # all of it, or too much: the checksum will tell
        return
    headers = {"User-Agent": "tinytorch", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        answer = urlopen(Request(url, headers=headers), timeout=30)
    except HTTPError as error:
        with error:
            raise ConnectionError(f"the server answered {error.code} {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise ConnectionError(getattr(error, "reason", error)) from None
    if not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        have = 0                                       # a server that cannot resume sends all of it
    with (answer, open(path, "ab" if have else "wb") as file,
          tqdm(total=size, initial=have, unit="B", unit_scale=True, disable=None,
               desc=url.rpartition("/")[2]) as bar):
        for block in blocks(answer):
            file.write(block)
            bar.update(len(block))
    have = os.path.getsize(path)
    if have < size:
        raise ConnectionError(f"only {have:,} of {size:,} bytes came")


def blocks(answer):
    """What a server sends, piece by piece."""
    from http.client import HTTPException
    while True:
        try:
            block = answer.read(1 << 16)
        except (OSError, HTTPException) as error:      # told apart from a disk that is full
            raise ConnectionError(error) from None
        if not block:
            return
        yield block


def content(path, md5=None):
    """The bytes of a file, unpacked if it is packed by gzip.

    Raises RuntimeError that names the file if it cannot be unpacked or its content has another checksum.
    """
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(path, f"it cannot be unpacked ({error})") from None
    if md5 and hashlib.md5(data, usedforsecurity=False).hexdigest() != md5:
        raise damaged(path, "its content is not what was published (the checksum differs)")
    return data


def damaged(path, reason):
    return RuntimeError(f"{path} is damaged or another file: {reason}. It was left as it is. Move it away "
                        "and call again: the next place is tried, or you are told how to get the file.")


_IDX = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path, md5=None):
    """The array in an IDX file, packed by gzip or not: of the shape and type that it says.

    Raises RuntimeError for a file that is damaged or no IDX.
    """
    data = content(path, md5)
    kind = _IDX.get(data[2]) if len(data) >= 4 and data[:2] == b"\0\0" else None
    if kind is None or len(data) < 4 + 4 * data[3]:
        raise damaged(path, f"it does not begin as an IDX file does, but with the bytes {data[:4].hex(' ')}")
    shape = struct.unpack_from(f">{data[3]}I", data, 4)
    start, dtype = 4 + 4 * len(shape), np.dtype(kind)
    wanted = dtype.itemsize * int(np.prod(shape, dtype=object))
    if len(data) - start != wanted:
        raise damaged(path, f"shape {shape} needs {wanted:,} bytes of numbers, it has {len(data) - start:,}")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def read_csv(path, md5=None, dtype="float32"):
    """The table (rows, columns) of numbers in a file with commas and no header, packed by gzip or not.

    Raises RuntimeError for a file that is damaged or no such table.
    """
    data = content(path, md5)
    try:
        table = np.loadtxt(data.decode("ascii").splitlines(), dtype=dtype, delimiter=",", ndmin=2)
    except ValueError as error:
        raise damaged(path, f"it is no table of numbers ({error})") from None
    return table
