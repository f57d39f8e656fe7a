# %% [markdown]
# # Who is taken for whom
#
# Given code: nothing to solve here. `accuracy` of the lesson is one number; a confusion matrix says which
# classes are taken for which.

# %%
#| default_exp training.more_metrics

# %%
from tinytorch.core.creation import as_tensor
from tinytorch.core.indexing import bincount

# %%
#| export
def confusion_matrix(predicted, target, classes=None):
    """How often class i, a row, was taken for class j, a column: (classes, classes), int64.

    predicted: scores (N, C), or classes (N,). target: classes (N,). classes: how many there are; by default
    one column for each score, or up to the largest class that occurs. Raises ValueError if shapes or classes
    do not fit.

    >>> confusion_matrix([0, 2, 2], [0, 1, 2]).tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    """
    predicted, target = as_tensor(predicted), as_tensor(target)
    if predicted.ndim == 2:
        classes, predicted = classes or predicted.shape[1], predicted.argmax(1)
    if predicted.shape != target.shape or target.ndim != 1:
        raise ValueError(f"confusion_matrix of {predicted.shape} and {target.shape}: both are one class for "
                         "each row, (N,), or the first one scores, (N, C).")
    if predicted.dtype.kind not in "iu" or target.dtype.kind not in "iu":
        raise ValueError(f"confusion_matrix of {predicted.dtype} and {target.dtype}: classes are integers.")
    highest = max([int(x.max()) for x in (predicted, target) if x.numel()], default=-1)
    lowest = min([int(x.min()) for x in (predicted, target) if x.numel()], default=0)
    classes = highest + 1 if classes is None else classes
    if lowest < 0 or highest >= classes:
        raise ValueError(f"confusion_matrix: there are classes from {lowest} to {highest}, and room for 0 to "
                         f"{classes - 1}. Leave out those that are to be ignored.")
    pairs = target.long() * classes + predicted.long()             # a number for each cell of the table
    return bincount(pairs, minlength=classes ** 2).reshape(classes, classes)
