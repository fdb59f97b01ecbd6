"""Reads a trace of Perfetto by the schema of the package `perfetto`, as its trace processor does: packets of a sequence share interned
names and defaults, and events are sorted by time. Prints what it found as JSON, and fails if slices are not nested, names are not
interned before their use, tracks are not described, or flows lack an end.

With a second argument, the trace processor at that path has to find the same."""

import collections
import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())

tracks, names, defaults, events = {}, {}, {}, []
for packet in trace.packet:
    sequence = packet.trusted_packet_sequence_id
    assert sequence > 0
    if packet.HasField("track_descriptor"):
        it = packet.track_descriptor
        assert it.uuid not in tracks
        tracks[it.uuid] = it
        continue
    if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
        names[sequence] = {"events": {}, "categories": {}, "annotations": {}}
        defaults[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
    known = names[sequence]
    known["events"].update((it.iid, it.name) for it in packet.interned_data.event_names)
    known["categories"].update((it.iid, it.name) for it in packet.interned_data.event_categories)
    known["annotations"].update((it.iid, it.name) for it in packet.interned_data.debug_annotation_names)
    if not packet.HasField("track_event"):
        continue
    assert packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
    event = packet.track_event
    track = event.track_uuid or defaults[sequence]
    category = "".join(known["categories"][it] for it in event.category_iids)
    name = known["events"][event.name_iid] if event.name_iid else ""
    amount = sum(it.uint_value for it in event.debug_annotations if known["annotations"][it.name_iid] == "bytes")
    events.append((packet.timestamp, track, event.type, category, name, amount, list(event.flow_ids), list(event.terminating_flow_ids)))

for it in tracks.values():
    assert not it.parent_uuid or it.parent_uuid in tracks
threads = [it for it in tracks.values() if it.HasField("thread")]
assert len({it.thread.tid for it in threads}) == len(threads)
processes = {it.process.pid for it in tracks.values() if it.HasField("process")}
assert {it.thread.pid for it in threads} == processes

# A stable sort by time, as the trace processor does it.
events.sort(key=lambda it: it[0])
stacks, slices, length = collections.defaultdict(list), collections.Counter(), collections.Counter()
instants, moved, begun, ended, deepest = collections.Counter(), collections.Counter(), {}, {}, 0
for time, track, kind, category, name, amount, flows, last in events:
    assert track in tracks
    if kind == TrackEvent.TYPE_SLICE_BEGIN:
        assert name
        stacks[track].append((time, category, name))
        slices[f"{category}: {name}"] += 1
        deepest = max(deepest, len(stacks[track]))
    elif kind == TrackEvent.TYPE_SLICE_END:
        begin, of, _ = stacks[track].pop()
        length[of] += time - begin
    else:
        assert kind == TrackEvent.TYPE_INSTANT
        instants[f"{category}: {name}"] += 1
        moved[name] += amount
    for flow in flows:
        assert flow not in begun and flow not in ended
        begun[flow] = time
    for flow in last:
        assert flow in begun and flow not in ended
        ended[flow] = time

found = {
    "threads": [it.thread.thread_name for it in threads],
    "processes": len(processes),
    "slices": slices,
    "instants": instants,
    "bytes": moved,
    "length_ns": length,
    "depth": deepest,
    "flows": len(begun),
    "flows_without_end": len(begun) - len(ended),
    "open": sum(len(it) for it in stacks.values()),
    "first": min(it[0] for it in events),
    "last": max(it[0] for it in events),
}

if len(sys.argv) > 2:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    with TraceProcessor(trace=sys.argv[1], config=TraceProcessorConfig(bin_path=sys.argv[2])) as processor:
        one = lambda query: next(iter(processor.query(query))).n
        assert one("SELECT count(*) AS n FROM slice") == sum(slices.values()) + sum(instants.values())
        assert one("SELECT count(*) AS n FROM flow") == len(ended)
        errors = "SELECT sum(value) AS n FROM stats WHERE severity = 'error'"
        assert not one(errors), one(errors)

json.dump(found, sys.stdout)
