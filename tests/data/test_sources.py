"""Where files are looked for, how they are fetched and read. The only server is one of the test's own."""
import gzip
import hashlib
import http.server
import struct
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tinytorch.data import sources
from tinytorch.data.sources import DataFile, cache_folder, find, look, places, read_csv, read_idx

NUMBERS = bytes(range(200)) * 5
PACKED = gzip.compress(NUMBERS, mtime=0)


SIZE = len(PACKED)


def file_of(size=SIZE, **known):
    return DataFile("set/raw/numbers.gz", hashlib.md5(NUMBERS).hexdigest(), size=size, **known)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# Looking

def test_order(tmp_path, monkeypatch):
    """The root, the course, a package, the system, the cache: the first that has it is taken"""
    package = tmp_path / "site" / "some_package_of_the_test"
    put(package / "__init__.py", b"raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    file = file_of(packages={"some_package_of_the_test": "data/numbers.gz"}, folders=(str(tmp_path / "usr"),))
    root = tmp_path / "mine"
    order = places(file, root)
    assert order[:2] == [str(root / "numbers.gz"), str(root / "set" / "raw" / "numbers.gz")]
    assert order[2].endswith("set/raw/numbers.gz".replace("/", sources.os.sep)) and "datasets" in order[2]
    assert order[3:] == [str(package / "data" / "numbers.gz"), str(tmp_path / "usr" / "numbers.gz"),
                         str(tmp_path / "cache" / "set" / "raw" / "numbers.gz")]
    for place in reversed([*order[:2], *order[3:]]):
        put(Path(place), PACKED)
        assert look(file, root) == place
    assert "some_package_of_the_test" not in sys.modules


def test_without_a_root(tmp_path):
    """Then the root is not among the places; unpacked files count as well"""
    file = file_of()
    assert len(places(file)) == 2 and look(file) is None
    assert len(places(DataFile("shipped.gz"), tmp_path)) == 3           # each place once
    path = put(tmp_path / "cache" / "set" / "raw" / "numbers", NUMBERS)
    assert look(file) == str(path) == find(file)


def test_not_found_says_where(tmp_path):
    """Every place in order, every way out, once; nothing is fetched unless it is asked for"""
    file = file_of(packages={"not_there": "x.gz", "bisect": "a/x.gz"}, folders=("/usr/share/nothing",),
                   mirrors=("http://127.0.0.1:9/a", "http://127.0.0.1:9/b"), advice=("buy the book",))
    other = DataFile("other.csv.gz", advice=("buy the book",))
    with pytest.raises(FileNotFoundError) as caught:
        find(file, tmp_path / "mine", instead_of=[other])
    lines = [line.strip() for line in str(caught.value).splitlines()]
    looked = [*places(other, tmp_path / "mine"), *places(file, tmp_path / "mine")]
    assert lines[0].startswith("numbers.gz is not on this machine")
    assert lines[1:1 + len(looked)] == looked
    assert {"the package not_there (not installed)", "the package bisect (not installed)"} < {*looked}
    assert [line.split("    ")[0] for line in lines[1 + len(looked):]] == [
        "Ways to get it:", "buy the book", "download=True", "root=FOLDER"]
    assert str(tmp_path / "mine" / "set" / "raw") in str(caught.value)
    assert not (tmp_path / "mine").exists() and not (tmp_path / "cache").exists()


@pytest.mark.parametrize("platform, variable", [("linux", "XDG_CACHE_HOME"), ("win32", "LOCALAPPDATA")])
def test_cache_folder(tmp_path, monkeypatch, platform, variable):
    """TINYTORCH_DATA, and without it what the system keeps for caches"""
    assert cache_folder() == str(tmp_path / "cache")
    monkeypatch.setenv("TINYTORCH_DATA", "")
    monkeypatch.setattr(sources.sys, "platform", platform)
    monkeypatch.setenv(variable, str(tmp_path / "system"))
    assert cache_folder() == str(tmp_path / "system" / "tinytorch")


def test_cache_folder_of_a_mac(tmp_path, monkeypatch):
    monkeypatch.delenv("TINYTORCH_DATA")
    monkeypatch.setattr(sources.sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert cache_folder() == sources.os.path.join(str(tmp_path), *"Library/Caches/tinytorch".split("/"))


# Fetching

class Server(http.server.BaseHTTPRequestHandler):
    """Sends `body`; `how` says what goes wrong."""
    def do_GET(self):
        server, body = self.server, self.server.body
        server.asked.append((self.path, self.headers.get("Range")))
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        if "absent" in self.path:
            return self.send_error(404)
        if server.how == "no range" or not start:
            start = 0
            self.send_response(200)
        else:
            self.send_response(206)
            start = 0 if server.how == "wrong range" else start
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = start + 100 if server.how == "truncated" else len(body)
        self.wfile.write(body[start:end])

    def log_message(self, *args): pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.asked, server.body, server.how = [], PACKED, ""
        server.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def left(folder): return sorted(p.name for p in folder.rglob("*") if p.is_file())


def test_download(tmp_path, server, capsys):
    """Below the root, under its own name only, silent in a pipe; found there the next time"""
    file = file_of(mirrors=(server.address + "/a/",))
    path = find(file, tmp_path, download=True)
    assert path == str(tmp_path / "set" / "raw" / "numbers.gz") and left(tmp_path) == ["numbers.gz"]
    assert sources.content(path, file.md5) == NUMBERS
    assert find(file, tmp_path, download=True) == path
    assert server.asked == [("/a/numbers.gz", None)]
    assert capsys.readouterr() == ("", "")


def test_download_to_the_cache(tmp_path, server):
    path = find(file_of(mirrors=(server.address,)), download=True)
    assert path == str(tmp_path / "cache" / "set" / "raw" / "numbers.gz")


def test_resumed(tmp_path, server):
    """A connection that breaks leaves what came; the next attempt asks for the rest"""
    file, server.how = file_of(mirrors=(server.address,)), "truncated"
    with pytest.raises(ConnectionError, match=r"(?s)numbers.gz could not.*goes on from there"):
        find(file, tmp_path, download=True)
    assert left(tmp_path) == ["numbers.gz.part"]
    assert (tmp_path / "set" / "raw" / "numbers.gz.part").read_bytes() == PACKED[:100]
    server.how = ""
    path = find(file, tmp_path, download=True)
    assert [asked for _, asked in server.asked] == [None, "bytes=100-"]
    assert sources.content(path, file.md5) == NUMBERS and left(tmp_path) == ["numbers.gz"]


def test_two_mirrors_make_one_file(tmp_path, server):
    """The second goes on where the first broke off"""
    server.how, mirrors = "truncated", tuple(f"{server.address}/{i}" for i in range(SIZE // 100 + 1))
    assert len(mirrors) > 1 and find(file_of(mirrors=mirrors), tmp_path, download=True)
    assert server.asked[:2] == [("/0/numbers.gz", None), ("/1/numbers.gz", "bytes=100-")]


@pytest.mark.parametrize("how", ["no range", "wrong range"])
def test_server_without_range(tmp_path, server, how):
    """It sends the whole file again, which replaces the part"""
    file, server.how = file_of(mirrors=(server.address,)), how
    put(tmp_path / "set" / "raw" / "numbers.gz.part", b"x" * 50)
    path = find(file, tmp_path, download=True)
    assert server.asked == [("/numbers.gz", "bytes=50-")]
    assert sources.content(path, file.md5) == NUMBERS


def test_complete_part(tmp_path, server):
    """Killed between the last byte and the renaming: nothing is asked for again"""
    put(tmp_path / "set" / "raw" / "numbers.gz.part", PACKED)
    find(file_of(mirrors=(server.address,)), tmp_path, download=True)
    assert server.asked == [] and left(tmp_path) == ["numbers.gz"]


def test_mirrors_in_order(tmp_path, server):
    """One that does not have it is passed over"""
    file = file_of(mirrors=(server.address + "/absent", server.address + "/b"))
    find(file, tmp_path, download=True)
    assert [path for path, _ in server.asked] == ["/absent/numbers.gz", "/b/numbers.gz"]


def test_no_mirror_has_it(tmp_path, server):
    """The error says what each answered"""
    file = file_of(mirrors=(server.address + "/absent", "http://127.0.0.1:1"), advice=("buy the book",))
    with pytest.raises(ConnectionError, match=r"(?s)/absent/numbers.gz: the server answered 404 .*"
                                              r"127.0.0.1:1/numbers.gz: .+\n.*buy the book"):
        find(file, tmp_path, download=True)
    assert left(tmp_path) == []


def test_wrong_checksum(tmp_path, server):
    """Another file than expected never gets the name; it is kept beside, and not gone on with"""
    server.body = gzip.compress(NUMBERS[::-1], mtime=0)
    file = file_of(mirrors=(server.address,), size=len(server.body))
    with pytest.raises(ConnectionError, match=r"another file than expected.*numbers\.gz\.wrong"):
        find(file, tmp_path, download=True)
    assert left(tmp_path) == ["numbers.gz.wrong"]


# Reading

def idx(array, code, big):
    head = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return head + array.astype(big).tobytes()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("code, big, dtype", [(8, "u1", "uint8"), (9, "i1", "int8"), (11, ">i2", "int16"),
                                              (12, ">i4", "int32"), (13, ">f4", "float32"),
                                              (14, ">f8", "float64")])
def test_idx(tmp_path, pack, code, big, dtype):
    """Each type and shape, in this machine's byte order, and free to be written to"""
    for shape in (3,), (2, 3, 4), (0, 5), ():
        wanted = (np.arange(np.prod(shape)).reshape(shape) * 3).astype(dtype)
        got = read_idx(put(tmp_path / "a", pack(idx(wanted, code, big))))
        assert got.dtype == dtype and got.dtype.isnative and got.flags.writeable
        assert np.array_equal(got, wanted) and got.shape == shape


GOOD = idx(np.arange(6).reshape(2, 3), 8, "u1")


@pytest.mark.parametrize("data, reason", [
    (b"", "does not begin"), (b"\0\0\x08", "does not begin"), (b"PK" + GOOD[2:], "bytes 50 4b 08 02"),
    (b"\0\0\x07" + GOOD[3:], "does not begin"), (GOOD[:9], "does not begin"),
    (GOOD[:-1], r"shape \(2, 3\) needs 6 bytes of numbers, it has 5"), (GOOD + b"x", "it has 7"),
    (struct.pack(">HBB4I", 0, 8, 4, *[2 ** 32 - 1] * 4), "needs 340,282,3"),
    (gzip.compress(GOOD)[:-9], "cannot be unpacked"), (gzip.compress(GOOD)[:12] + b"\xff" * 20, "unpacked"),
    (gzip.compress(GOOD)[:-8] + bytes(8), "unpacked")])
def test_damaged_idx(tmp_path, data, reason):
    """Named, with the reason and the way out, and kept"""
    path = put(tmp_path / "numbers.gz", data)
    with pytest.raises(RuntimeError, match=rf"(?s)numbers.gz is damaged.*{reason}.*Move it away"):
        read_idx(path)
    assert path.read_bytes() == data


def test_checksum_of_the_content(tmp_path):
    """The same for a packed and a plain file; another content is refused"""
    md5 = hashlib.md5(GOOD).hexdigest()
    for data in GOOD, gzip.compress(GOOD, 1), gzip.compress(GOOD, 9, mtime=7):
        assert read_idx(put(tmp_path / "a", data), md5).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError, match="not what was published"):
        read_idx(put(tmp_path / "a", GOOD[:-1] + b"\x06"), md5)


def test_csv(tmp_path):
    path = put(tmp_path / "t.csv.gz", gzip.compress(b"1,2.5,3\r\n4,5,6\r\n"))
    assert read_csv(path).tolist() == [[1, 2.5, 3], [4, 5, 6]] and read_csv(path).dtype == "float32"
    assert read_csv(put(tmp_path / "t.csv", b"7,255\n"), dtype="uint8").tolist() == [[7, 255]]


@pytest.mark.parametrize("data", [b"1,2\n3\n", b"1,x\n", "1,\u00e9\n".encode()])
def test_damaged_csv(tmp_path, data):
    with pytest.raises(RuntimeError, match="t.csv is damaged.*no table of numbers"):
        read_csv(put(tmp_path / "t.csv", data))
