# Generated from modules/03_layers/hooks_dev.py by tito export. Edit the lesson, not this file.
# source sha256 88d2fb5f3ec02f90266b6c0f03126eda949285e8068fa5a62516450f3ae6e983  body sha256 e632ef8f8cf0483134d2be61e3f40c342b49b0431360b7d8e6dd43122426e400  # noqa: E501
"""nn.hooks: built in module 03_layers."""

from dataclasses import dataclass

__all__ = ["CallBase", "Hook", "RemovableHandle"]


@dataclass(frozen=True, eq=False)
class Hook:
    """A function that hears of a module's calls, before or after forward."""
    function: object
    before: bool
    with_kwargs: bool


class RemovableHandle:
    """What registering a hook returns: `remove()` ends it, and so does leaving a `with` block."""
    def __init__(self, module, hook): self.module, self.hook = module, hook
    def remove(self): self.module._hooks = [hook for hook in self.module._hooks if hook is not self.hook]
    def __enter__(self): return self
    def __exit__(self, *error): self.remove()


class CallBase:
    """The part of a module that is called: `forward`, and the hooks around it."""
    _hooks = ()

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"Module [{type(self).__name__}] is missing the required \"forward\" "
                                  "function: what it computes when it is called.")

    def __call__(self, *args, **kwargs):
        if self._hooks or kwargs:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args)                     # nearly always: straight on

    def _call_with_hooks(self, args, kwargs):
        hooks = list(self._hooks)
        for hook in hooks:
            if hook.before:
                args, kwargs = self._changed_by(hook, args, kwargs)
        out = self.forward(*args, **kwargs)
        for hook in hooks:
            if not hook.before:
                told = (args, kwargs) if hook.with_kwargs else (args,)
                changed = hook.function(self, *told, out)
                out = out if changed is None else changed
        return out

    def _changed_by(self, hook, args, kwargs):
        """Arguments for forward after a pre-hook has seen them."""
        if not hook.with_kwargs:
            changed = hook.function(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        elif (changed := hook.function(self, args, kwargs)) is not None:
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError("forward pre-hook: with kwargs it must return None or a tuple of new args "
                                   f"and kwargs, not {changed!r:.60}.")
            args, kwargs = changed
        return args, kwargs

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before each forward; what it returns, if not None, replaces the args.

        with_kwargs: `hook(module, args, kwargs)`, which may return (args, kwargs).
        """
        return self._register(Hook(hook, True, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args, out)` after each forward; what it returns, if not None, replaces out.

        with_kwargs: `hook(module, args, kwargs, out)`. prepend: before the hooks that are there already.
        """
        return self._register(Hook(hook, False, with_kwargs), prepend)

    def _register(self, hook, prepend):
        self._hooks = [hook, *self._hooks] if prepend else [*self._hooks, hook]
        return RemovableHandle(self, hook)
