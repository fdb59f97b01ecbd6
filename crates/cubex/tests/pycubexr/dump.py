"""Prints what pyCubexR reads of reports, in the form that `pycubexr.rs` prints it too.

Floating-point numbers are printed as their bits, so that equal lines are equal values. Lines that begin
with `near` hold sums, which depend on the order of additions.
"""
import struct
import sys
import warnings

import numpy
from pycubexr import CubexParser
from pycubexr.utils.exceptions import MissingMetricError


def words(value):
    """A value as words: integers as they are, floats as bits, structures flattened."""
    if isinstance(value, (tuple, list, numpy.ndarray, numpy.void)):
        return [word for item in value for word in words(item)]
    if isinstance(value, (complex, numpy.complexfloating)):
        return words(value.real) + words(value.imag)
    if isinstance(value, (float, numpy.floating)):
        return ["%016x" % struct.unpack("<Q", struct.pack("<d", float(value)))[0]]
    return [str(int(value))]


def plain(values):
    return getattr(values, "_values", values)


def text(value):
    return (value or "").replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def dump_metric(report, metric):
    print("metric", metric.id, metric.metric_type, text(metric.name), text(metric.data_type))
    print("metric", metric.id, text(metric.display_name), text(metric.units), text(metric.url),
          text(metric.description), [child.id for child in metric.childs], sep="|")
    try:
        values = report.get_metric_values(metric, allow_full_uint64_values=True)
    except MissingMetricError:
        print("values", metric.id, "missing")
        return
    except AssertionError:
        print("values", metric.id, "empty")
        return
    for cnode in sorted(report.all_cnodes(), key=lambda cnode: cnode.id):
        row = plain(values.cnode_values(cnode))
        print("row", metric.id, cnode.id, *words(row))
        kind = row.dtype.kind
        if kind == "u" and row.dtype.itemsize == 8 or metric.data_type in ("DOUBLE", "FLOAT"):
            for name, option in (("inclusive", {"convert_to_inclusive": True}),
                                 ("exclusive", {"convert_to_exclusive": True})):
                converted = values.cnode_values(cnode, **option)
                if kind == "u":
                    # pyCubexR wraps where sums exceed 64 bits; the tests keep away from that.
                    print(name, metric.id, cnode.id, *words(converted))
                else:
                    print("near", name, metric.id, cnode.id, *[repr(float(v)) for v in converted])


def dump_node(node):
    groups = [group.id for group in node._location_group_children]
    children = [child.id for child in node._system_tree_node_children]
    print("node", node.id, text(node.name), groups, children, sorted(node.attrs.items()), sep="|")
    for group in node._location_group_children:
        print("group", group.id, text(group.name), group.rank, group.type, sep="|")
        for location in group._locations:
            print("location", location.id, text(location.name), location.rank, location.type, sep="|")
    for child in node._system_tree_node_children:
        dump_node(child)


def dump(path):
    print("report", path)
    with CubexParser(path) as report:
        for metric in sorted(report.all_metrics(), key=lambda metric: metric.id):
            dump_metric(report, metric)
        for region in report._anchor_result.regions:
            print("region", region.id, text(region.name), text(region.mangled_name), text(region.paradigm),
                  text(region.role), text(region.url), text(region.description), text(region.mod),
                  region.begin, region.end, sep="|")
        for cnode in sorted(report.all_cnodes(), key=lambda cnode: cnode.id):
            children = [child.id for child in cnode.get_children()]
            parameters = [f"{text(key)}={text(str(value))}" for key, value in cnode.parameters.items()]
            print("cnode", cnode.id, cnode.callee_region_id, children, ";".join(parameters), sep="|")
        for root in report._anchor_result.system_tree_nodes:
            dump_node(root)


warnings.simplefilter("ignore")
for argument in sys.argv[1:]:
    dump(argument)
