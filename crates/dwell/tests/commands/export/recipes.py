"""Runs the recipes of a page in the current directory, and prints the page with the tables that come out.

Every block of SQL is run by DuckDB. Every block of Python ends with a table of pandas named `result`. The table behind a block is
replaced by what came.
"""

import re
import sys

import duckdb


def markdown(columns, rows):
    lines = [list(map(str, columns)), ["---"] * len(columns)]
    lines += [["" if value is None else str(value) for value in row] for row in rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def run(language, code):
    if language == "sql":
        found = duckdb.sql(code)
        return markdown(found.columns, found.fetchall())
    names = {}
    exec(code, names)
    result = names["result"]
    return markdown(result.columns, result.itertuples(index=False, name=None))


def replace(block):
    language, code = block.group(1), block.group(2)
    return f"```{language}\n{code}```\n\n{run(language, code)}\n"


page = open(sys.argv[1], encoding="utf-8").read()
sys.stdout.write(re.sub(r"```(sql|python)\n((?:(?!```).*\n)*)```\n\n(?:\|.*\n)*\n*", replace, page).rstrip("\n") + "\n")
