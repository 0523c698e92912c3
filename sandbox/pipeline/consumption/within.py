"""Which rows are inside ranges: a sweep over both in order, so that ranges are never expanded offset by offset."""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def within(rows: "DataFrame", position: str, ranges: "dict[str, DataFrame]", keys: Sequence[str]) -> "DataFrame":
    """`rows` with a flag for each kind of range, true where one with the same `keys` contains `position`.

    `ranges`: by the flag's name, each with `keys`, `first` and `last` (both inclusive).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    flags = list(ranges)
    points = rows.select(*keys, f.col(position).alias("_at"), f.lit(1).alias("_turn"),
                         *(f.lit(0).alias(f"_{flag}") for flag in flags), f.struct(*rows.columns).alias("_row"))
    row_type = points.schema["_row"].dataType
    edges = [
        given.select(*keys, f.explode(f.array(f.struct(f.col("first").alias("_at"), f.lit(1).alias("_step")),
                                              f.struct((f.col("last") + 1).alias("_at"), f.lit(-1).alias("_step"))))
                     .alias("_edge"))
        .select(*keys, f.col("_edge._at"), f.lit(0).alias("_turn"),
                *(f.col("_edge._step") if flag == name else f.lit(0) for name in flags),
                f.lit(None).cast(row_type).alias("_row"))
        for flag, given in ranges.items()
    ]
    so_far = Window.partitionBy(*keys).orderBy("_at", "_turn").rowsBetween(Window.unboundedPreceding, 0)
    swept = reduce(lambda one, other: one.union(other), [points, *edges])
    open_now = [(f.sum(f"_{flag}").over(so_far) > 0).alias(flag) for flag in flags]
    return swept.select("_turn", "_row", *open_now).where("_turn = 1").select("_row.*", *flags)
