"""Small models that transformers makes with numbers of every size, saved in its own layout."""
import logging

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install -e '.[conformance]' has the judge")
transformers = pytest.importorskip("transformers", reason="pip install -e '.[conformance]' has the judge")
logging.getLogger("transformers").setLevel(logging.ERROR)
transformers.utils.logging.disable_progress_bar()

from tinytorch import Tensor, no_grad  # noqa: E402
from tinytorch.models import from_pretrained  # noqa: E402


def saved(model, folder, **options):
    """The model in float64, its numbers drawn anew, after it was saved as it is now read: (model, folder)."""
    torch.manual_seed(0)
    with torch.no_grad():
        frozen = [p for p in model.parameters() if not p.requires_grad]              # Marian's sines
        for name, p in [*model.named_parameters(), *model.named_buffers()]:
            if p.is_floating_point() and "inv_freq" not in name and all(p is not q for q in frozen):
                p.normal_(1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, 0.3)
    model.save_pretrained(folder, **options)
    return model.double().eval(), folder


def both(model, folder, **options):
    """(theirs, ours) of a model, both in float64."""
    theirs, folder = saved(model, folder, **options)
    return theirs, from_pretrained(folder, dtype="float64")


def run(model, *inputs, **named):
    """What a model of either library gives, as arrays, without recording; inputs are arrays."""
    theirs = isinstance(model, torch.nn.Module)
    make, quiet = (torch.from_numpy, torch.no_grad) if theirs else (Tensor, no_grad)
    with quiet():
        return model(*[make(x) for x in inputs], **{k: make(x) if isinstance(x, np.ndarray) else x
                                                    for k, x in named.items()})


def layers_of(blocks, call):
    """What came out of each of our blocks while call() ran."""
    outputs = []
    hooks = [block.register_forward_hook(lambda module, inputs, out: outputs.append(
        out[0] if isinstance(out, tuple) else out)) for block in blocks]
    call()
    for hook in hooks:
        hook.remove()
    return outputs


def same(ours, theirs, atol=1e-9):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=atol, atol=atol)
