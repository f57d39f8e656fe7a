# Generated from modules/08_dataloader/dataloader_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2157eecb930d0116b6ee478b555c2e8cd4b7badab00d885f6bfe4a4c81b42b34  body sha256 583efaaf5c46e6711eb9c3e071f82cc3bdd728cd9b603cfbafc5b7685c88c3af  # noqa: E501
"""data.prefetching: built in module 08_dataloader."""

import queue
import threading

__all__ = ["END", "fill", "prefetch"]


END = object()


def fill(items, ready, stop):
    """Put each of `items` into the queue `ready` as (item, None), then (END, the error or None)."""
    error = None
    try:
        for item in items:
            ready.put((item, None))
            if stop.is_set():
                return
    except BaseException as raised:                    # whatever it is, the loop must hear of it
        error = raised
    ready.put((END, error))


def prefetch(items, ahead=2):
    """Yields what `items` yields, made in a thread: `ahead` items wait at most, and one is in its hands.

    An error in the thread is raised here, in its place. The thread begins when the first item is asked for,
    and ends with the item it is at when the loop is left.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    ready, stop = queue.Queue(ahead), threading.Event()
    threading.Thread(target=fill, args=(items, ready, stop), daemon=True).start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is END:
                return
            yield item
    finally:
        stop.set()
        while not ready.empty():
            ready.get_nowait()
