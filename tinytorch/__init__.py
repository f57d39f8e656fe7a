"""TinyTorch: a tensor, autograd, and what is built on them, with PyTorch's names.

The files below `core`, `nn`, ... that start with "Generated from" are written by `tito export` from the
lessons in `modules/`. This file and the other faces hand on their names.
"""

import warnings
from importlib import import_module
from math import e, inf, nan, pi  # noqa: F401

from tinytorch._faces import face
from tinytorch._openblas import set_up as set_up_openblas

set_up_openblas()                  # before NumPy is loaded

__version__ = "0.1.0"

# log(0) is -inf and 0/0 is nan without further noise, as in PyTorch; detect_anomaly() finds the op
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tinytorch\.")

# Loaded at once: methods must be known, and every op must know its rule before it first runs
for _name in ("core.casts", "core.creation", "core.indexing", "core.joining", "core.math", "core.products",
              "core.reductions", "core.shape", "nn.activations", "core.rules", "core.ops_rules",
              "core.math_rules", "core.shape_rules", "core.activation_rules", "core.layer_rules",
              "core.loss_rules", "core.higher"):
    import_module(f"tinytorch.{_name}")

__getattr__, __dir__, __all__ = face(__name__, {
    "core.backend": "default_generator device Generator manual_seed",
    "core.dtypes": """bool=bool_ double=float64 float16 float32 float64 float=float32 half=float16
        int32 int64 int8 int=int32 long=int64 promote_types result_type uint8""",
    "core.tensor": "Tensor",
    "core.creation": """arange as_tensor asarray bernoulli empty empty_like eye from_dlpack
        from_numpy full full_like is_tensor linspace logspace multinomial normal ones ones_like
        rand rand_like randint randint_like randn randn_like randperm tensor tril_indices
        triu_indices zeros zeros_like""",
    "core.ops": """add eq gather ge gt le lt masked_fill matmul mean mul=multiply multiply ne
        neg=negative negative pow reshape sub=subtract subtract transpose""",
    "core.math": """abs absolute acos acosh addcdiv addcmul all allclose amax amin any arccos
        arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin asin asinh atan atan2 atanh
        bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip cos
        cosh count_nonzero cumprod cumsum div divide=div equal erf exp exp2 expm1 fix floor
        floor_divide fmax fmin fmod frac greater greater_equal hypot isclose isfinite isinf
        isnan lerp less less_equal log log10 log1p log2 logaddexp logical_and logical_not
        logical_or logical_xor maximum minimum nan_to_num not_equal prod reciprocal remainder
        round rsqrt sign sin sinh sqrt square sum tan true_divide trunc where xlogy""",
    "core.products": """addbmm addmm addmv addr baddbmm bmm dot einsum inner kron mm mv outer
        tensordot trace""",
    "core.shape": """broadcast_shapes broadcast_tensors broadcast_to clone diagonal flatten flip
        fliplr flipud moveaxis movedim narrow permute ravel roll rot90 select squeeze swapaxes
        swapdims t tile unflatten unsqueeze""",
    "core.indexing": """argsort argwhere bincount bucketize diag diag_embed index_add index_copy
        index_fill index_select kthvalue masked_select nonzero repeat_interleave scatter
        scatter_add searchsorted sort take take_along_dim topk tril triu unique""",
    "core.autograd": "no_grad",
    "core.higher": "enable_grad inference_mode is_grad_enabled set_grad_enabled",
    "core.joining": """cat chunk column_stack concat concatenate dstack hstack meshgrid row_stack
        split stack tensor_split unbind vstack""",
    "core.reductions": "dist logsumexp max median min norm std std_mean var var_mean",
    "nn.activations": "log_softmax relu sigmoid softmax tanh",
    "nn.more_activations": "celu prelu selu",
    "nn.norm_functions": "layer_norm rms_norm",
    "training.saving": "load save",
}, parts=("autograd", "cuda", "data", "func", "linalg", "nn", "optim", "text", "training", "utils", "viz"))
