"""Products of inputs too long for shared memory: several steps, each with some of the columns."""

from dataclasses import replace

from llm.gpu.steps.packing import ceil_div
from llm.gpu.steps.steps import Epilogue, Product, Prologue

MOST_INPUT = 14336  # values; with the rest of what the kernel shares, they fit 48 KiB
BLOCK = 256  # values of the largest blocks, which are not cut


def sliced(product: Product) -> list[Product]:
    """The steps that do the same: the first stores or adds, the others add to that."""
    if product.width <= MOST_INPUT or product.prologue not in (Prologue.PLAIN, Prologue.GATED):
        return [product]
    if product.experts is not None or product.epilogue not in (Epilogue.STORE, Epilogue.ADD):
        return [product]
    columns = product.width
    width = ceil_div(ceil_div(columns, BLOCK), ceil_div(columns, MOST_INPUT)) * BLOCK
    return [
        replace(
            product,
            start=start,
            width=min(width, columns - start),
            slice_width=width,
            epilogue=Epilogue.ADD if start else product.epilogue,
        )
        for start in range(0, columns, width)
    ]
