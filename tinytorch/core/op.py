# Generated from modules/01_tensor/tensor_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5d89683f5dabb2a81d8638c7262c521fa5b5d05f0c628d93a789aab60287b7a4  body sha256 cb6f207a20205a5a66c0bad7fdf264560048f7e43cf78719752c851c70769629  # noqa: E501
"""core.op: built in module 01_tensor."""

from tinytorch.core.base import METHODS, OpBase, this_thread
from tinytorch.core.dtypes import float32, settle

__all__ = ["Op", "op"]


class Op(OpBase):
    """A function on arrays that can be called with tensors. Called with arrays alone, it gives arrays."""
    def __call__(self, *inputs, **params):
        """Unwrap the tensors among `inputs`, compute, wrap the result, tell the recorder."""
        if params:
            inputs, params = self.bind(inputs, params)
        arrays, tensors = [], False
        for x in inputs:
            if isinstance(x, Tensor):
                x, tensors = x.data, True
            arrays.append(x)
        forward = self.kernels.get(type(arrays[0]), self.forward) if self.kernels else self.forward
        try:
            result = forward(*arrays, **params)
        except Exception as error:
            return self.retry(error, inputs, params)
        if not tensors:
            return result[0] if self.keeps else result
        if self.outputs:
            out = tuple([Tensor._of(array) for array in result])
        else:
            array = result[0] if self.keeps else result
            if array.dtype is not float32 or not array.ndim:   # anything but an ordinary array
                array = settle(array, arrays, self.promote)
                if not self.keeps:
                    result = array
            out = Tensor._of(array)
        if self.view:
            self.remember(inputs, params, out)
        recorder = this_thread.recorder
        if recorder is not None:
            recorder(self, inputs, arrays, params, result, out)
        return out


def op(forward=None, *, method=False, **flags):
    """Make a function on arrays an `Op`: `@op`, or `@op(keeps=True, method=True, ...)`."""
    def make(forward):
        made = Op(forward, **flags)
        if method:
            METHODS[made.name] = made
        return made
    return make(forward) if forward else make


from tinytorch.core.tensor import Tensor  # at the end: the two files need each other  # noqa: E402
