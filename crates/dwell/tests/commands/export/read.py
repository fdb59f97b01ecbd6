"""Reads all tables in a directory with pyarrow, pandas, Polars and DuckDB, and prints what each of them found as JSON: for each table
the number of rows, the columns with their types as pyarrow names them, and the sum of each column of numbers."""

import json
import math
import pathlib
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet


def exact(value):
    """Sums of integers stay integers; sums of floating-point numbers are rounded to what order does not change."""
    if value is None:
        return 0
    return float(f"{value:.9e}") if isinstance(value, float) and not math.isnan(value) else int(value)


found = {}
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.parquet")):
    table = pyarrow.parquet.read_table(file)
    numbers = [it.name for it in table.schema if not pyarrow.types.is_string(it.type)]
    frame = pandas.read_parquet(file, dtype_backend="numpy_nullable")
    lazy = polars.scan_parquet(file)
    columns = ", ".join(f'sum("{name}")' for name in numbers)
    if not numbers:
        columns = "1"
    readers = {
        "pyarrow": [exact(pyarrow.compute.sum(table[name]).as_py()) for name in numbers],
        "pandas": [exact(frame[name].sum().item()) for name in numbers],
        # Polars adds 32 bits in 32 bits.
        "polars": [exact(it) for it in lazy.cast({polars.Int32: polars.Int64}).select(
            polars.col(numbers).sum()).collect().rows()[0]] if numbers else [],
        "duckdb": [exact(it) for it in duckdb.sql(f"SELECT {columns} FROM '{file}'").fetchall()[0]][: len(numbers)],
    }
    rows = {
        "pyarrow": table.num_rows,
        "pandas": len(frame),
        "polars": lazy.select(polars.len()).collect().item(),
        "duckdb": duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall()[0][0],
    }
    found[file.stem] = {
        "columns": [[it.name, str(it.type), it.nullable] for it in table.schema],
        "rows": rows,
        "sums": {reader: dict(zip(numbers, sums)) for reader, sums in readers.items()},
    }
json.dump(found, sys.stdout)
