# %% [markdown]
# # Models that others have trained
#
# Given code: nothing to solve here. A folder as Hugging Face's libraries write it has the options of a model
# (config.json) and its numbers (model.safetensors). Three lines, and it runs:
#
#     from tinytorch.models import from_pretrained
#     model = from_pretrained("all-MiniLM-L6-v2")
#     vectors = model(token_ids, attention_mask)
#
# The words come from the same folder: `tinytorch.text.from_pretrained(folder)` makes the tokenizer.

# %%
#| default_exp models.pretrained

# %%
import json
import mmap
import os
import re
from types import SimpleNamespace

import numpy as np

from tinytorch.core.backend import drawing_from
from tinytorch.models.families import FAMILIES, Place
from tinytorch.nn.parameter import overwrite
from tinytorch.text.hf_files import json_of
from tinytorch.training.packing import BITS, array_of, complaint, promised_size

# %% [markdown]
# A file of weights is not read: it is mapped into memory, and a tensor's bytes come from the disk when it is
# its turn. So no more than one tensor is held beside the model.

# %%
#| export
def parts_of(path):
    """{name: {"dtype", "shape", "data"}} of a safetensors file, as `array_of` takes them.

    Raises RuntimeError, that names the file and the reason, if it is cut off or of another kind.
    """
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.path.getsize(path) else b""
    if not data or promised_size(data) != len(data):
        raise RuntimeError(f"from_pretrained: {path} cannot be read: {complaint(data, 'no such header')}")
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    for name, part in header.items():
        if part["dtype"] not in BITS:
            raise RuntimeError(f"from_pretrained: {path} cannot be read: its tensor {name!r} holds "
                               f"{part['dtype']}. Save the model in float32, float16 or bfloat16.")
        first, end = part["data_offsets"]
        part["data"] = memoryview(data)[start + first:start + end]
    return header


def weights_in(folder):
    """The parts of all safetensors files of a model: of one, or of those that the index names.

    Raises FileNotFoundError that says what is missing, and what to do.
    """
    whole = os.path.join(folder, "model.safetensors")
    index = whole + ".index.json"
    if os.path.exists(whole) or not os.path.exists(index):
        names = ["model.safetensors"]
    else:
        names = sorted(set(json_of(index).get("weight_map", {}).values()))
    lacking = [name for name in names if not os.path.exists(os.path.join(folder, name))]
    if lacking:
        found = sorted(os.listdir(folder))
        way = ("pytorch_model.bin is a pickle, which may run any code when it is read: read it with PyTorch, "
               "torch.load(path, weights_only=True), and write it with safetensors.torch.save_file."
               if any(name.startswith("pytorch_model") for name in found)
               else "Copy it there: nothing is downloaded.")
        raise FileNotFoundError(f"from_pretrained: {folder} has no {', '.join(lacking)}. It has "
                                f"{', '.join(found) or 'no files'}. {way}")
    parts = {}
    for name in names:
        parts |= parts_of(os.path.join(folder, name))
    return parts


# %% [markdown]
# Then each parameter of ours looks for its numbers. The walk over the model, and not over the file, has two
# merits: a matrix that lies in two parameters (or three in one, as in GPT-2) needs no special case, and what
# nobody asked for is left over and can be named.

# %%
#| export
def places_of(name, names):
    """Where our parameter `name` may be: [(the file's name, Place)], by a family's table."""
    number = re.search(r"\.\d+\.", name)
    pattern = name if number is None else name.replace(number[0], ".N.")
    path, _, kind = pattern.rpartition(".")
    found, end = (names[pattern], "") if pattern in names else (names[path], "." + kind)
    place = found if isinstance(found, Place) else Place(found)
    return [(theirs.replace(".N.", number[0] if number else ".N.") + end, place)
            for theirs in place.names.split()]


def fill(model, parts, names):
    """Write the file's numbers into the model: (names that were used, what is wrong, as sentences).

    parts: the file's, by short names. A parameter with two names may lie under either.
    """
    places, used, wrong = {}, set(), []
    for name, parameter in model.state_dict(keep_vars=True).items():
        places.setdefault(parameter, []).extend(places_of(name, names))
    for parameter, candidates in places.items():
        there = [(name, place) for name, place in candidates if name in parts]
        used |= {name for name, _ in there}
        name, place = (there or candidates)[0]
        if there:
            array = array_of(name, parts[name])
            array = array if place.change is None else place.change(array)
            if array.shape != parameter.shape:
                here = "" if place.change is None else f", which makes {array.shape},"
                wrong.append(f"{parts[name]['name']} is {tuple(parts[name]['shape'])}{here} and must be "
                             f"{parameter.shape}")
                continue
        elif place.default is not None:
            array = place.default(parameter.shape)
        else:
            wrong.append(f"{' or '.join(dict(candidates))} is missing")
            continue
        overwrite(parameter, array)
    return used, wrong


# %% [markdown]
# A new model draws its numbers, and here all of them are written over. So zeros are drawn: that is quicker,
# and the program's own random numbers stay what they would have been.

# %%
#| export
class Zeros:
    """Draws nothing but 0, as NumPy's generators are asked."""
    def random(self, size, dtype): return np.zeros(size, dtype)
    standard_normal = random


def built(family, config, architecture, there):
    """The family's model, its numbers still to be written; ValueError if the config lacks a setting."""
    try:
        with drawing_from(SimpleNamespace(random=Zeros())):
            return family.build(config, architecture, there)
    except KeyError as error:
        raise ValueError(f"from_pretrained: config.json does not say {error}.") from None


# %% [markdown]
# The rest says no to what is not known, with its name.

# %%
#| export
def config_of(folder):
    """What config.json says; FileNotFoundError if it is not there."""
    if not os.path.exists(os.path.join(folder, "config.json")):
        raise FileNotFoundError(
            f"from_pretrained: there is no config.json in {folder}. A model is read from a folder on this "
            "machine with config.json and model.safetensors, as Hugging Face's save_pretrained writes it.")
    return json_of(os.path.join(folder, "config.json"))


def family_of(config, folder):
    """(family, architecture) of a config; ValueError that says what is known."""
    kind, named = config.get("model_type"), config.get("architectures")
    if kind not in FAMILIES:
        raise ValueError(f"from_pretrained: the model in {folder} is of type {kind!r}. Known are "
                         f"{', '.join(FAMILIES)}.")
    family = FAMILIES[kind]
    architecture = named[0] if named else next(iter(family.heads))
    if architecture not in family.heads:
        raise ValueError(f"from_pretrained: the model in {folder} is a {architecture}. Known are, of type "
                         f"{kind!r}, {', '.join(family.heads)}.")
    return family, architecture


def short_name(name, prefix):
    """A name without what may stand in front, and as it is today: BERT's first files have gamma and beta."""
    return re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name.removeprefix(prefix)))


def from_pretrained(folder, dtype=None, device=None):
    """The model in a folder of Hugging Face's files, with all its numbers, in evaluation.

        tokenizer = tinytorch.text.from_pretrained("SmolLM2-135M-Instruct")
        model = tinytorch.models.from_pretrained("SmolLM2-135M-Instruct")
        ids, = model.generate([tokenizer.encode("The capital of France is")], 5, temperature=0)

    Of BERT it is a BERTEncoder, or that in a BERTFor..., as the folder's head asks for; of GPT-2, Llama,
    Mistral and Qwen2 a GPTDecoder, of BART and Marian a Seq2SeqTransformer, of ViT a VisionTransformer.
    `model.config` is what config.json and generation_config.json say: "eos_token_id" and so on.

    dtype: of the numbers, float32 if not given, whatever the file has. Raises ValueError for a kind of model
    or a setting that is not known here, FileNotFoundError if a file is missing, and RuntimeError that lists
    the names of all tensors that are missing, of another shape, or of no use.
    """
    folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    config = config_of(folder)
    family, architecture = family_of(config, folder)
    parts = {short_name(name, family.prefix): {**part, "name": name}
             for name, part in weights_in(folder).items()}
    model = built(family, config, architecture, parts)
    model = model if dtype is None else model.to(dtype)
    used, wrong = fill(model, parts, family.names | family.heads[architecture])
    wrong += [f"{part['name']} is unexpected" for name, part in parts.items()
              if name not in used and not re.fullmatch(family.ignored, name)]
    if wrong:
        raise RuntimeError(f"from_pretrained: {folder} does not fit a {architecture}: "
                           f"{'; '.join(dict.fromkeys(wrong))}. Do config.json and weights belong together?")
    model.config = config | json_of(os.path.join(folder, "generation_config.json"))
    return (model if device is None else model.to(device)).eval()
