"""Small work, where a framework's own cost shows: TinyTorch beside PyTorch eager (see race.py).

    python benchmarks/small_steps.py [--rounds 15] [--json build/small_steps.json]
"""

import race


def measures(torch):
    """(name, function, what makes its argument, how many things one call does)."""
    import numpy as np
    nn = torch.nn
    torch.manual_seed(0)
    a, b = np.ones(4, "float32"), np.ones(4, "float32")
    x, y = torch.tensor(a, requires_grad=True), torch.tensor(b)

    def chain(n=1000):
        t = x
        for _ in range(n):
            t = t + y
        return t.sum()

    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.randn(32, 2), torch.randn(32, 1)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data), target).backward()
        optimizer.step()

    def unrecorded(n=1000):
        with torch.no_grad():
            for _ in range(n):
                x + y

    def recorded(n=1000):
        for _ in range(n):
            x + y

    yield "raw numpy add", lambda: [a + b for _ in range(1000)], None, 1000
    yield "add, recorded", recorded, None, 1000
    yield "add, no_grad", unrecorded, None, 1000
    yield "walk, per node", lambda t: t.backward(), chain, 1000
    yield "MLP 2-16-16-1 step", step


if __name__ == "__main__":
    race.main(__file__, measures, "small steps", "us")
