// Made from crates/dwell-serve/src/types.rs: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-serve types`.

import type { Computed, Confidence, Efficiency, Entry, FunctionTimes, Instance, Iterations, Point, Share, Verdict } from "./findings";

export type Session = {
/**
 * Secret of the session, which every request must state.
 */
secret: string, };

export type Refused = {
/**
 * Reason in words for a user.
 */
error: string, };

export type Runs = {
/**
 * Version of this interface.
 */
version: number,
/**
 * Version of Dwell.
 */
program: string, runs: Array<RunName>,
/**
 * True if these are the runs of a directory, so that `many` has an answer.
 */
many: boolean, };

export type RunName = {
/**
 * Identifier of the run in requests.
 */
id: string, title: string,
/**
 * Path of the report, for people.
 */
path: string, };

export type Overview = { title: string, facts: Array<Fact>,
/**
 * Seconds over all locations.
 */
time: number,
/**
 * Seconds of the run over all locations, without calls that start or end a runtime.
 */
run: number,
/**
 * Seconds over all locations in calls that start a runtime.
 */
startup: number,
/**
 * Seconds over all locations in calls that end a runtime.
 */
shutdown: number,
/**
 * Lower bound of the waits of the run in seconds; null if the report has not been searched for waits.
 */
waits: number | null,
/**
 * Upper bound of the waits of the run in seconds.
 */
waits_at_most: number | null, parts: Array<PartOfTime>,
/**
 * Findings grouped by call path, in the order in which they are shown.
 */
entries: Entry[], findings: Array<Finding>,
/**
 * What processes did that made others wait, what cost most first.
 */
causes: Array<Cause>,
/**
 * True if the run can be played without a cause.
 */
plays: boolean,
/**
 * Number of entries that are not listed.
 */
more: number,
/**
 * Notes on what could not be judged, is in doubt or is damaged.
 */
notes: Array<Note>,
/**
 * What the run loses time to, and what to change first; null if it was not searched for waits.
 */
verdict: Verdict | null,
/**
 * For each point of the verdict and each of its places a call path that is called there, if the report has one.
 */
verdict_places: Array<Array<number | null>>,
/**
 * How well the run uses its processes; null if it is not known.
 */
efficiency: Efficiency | null,
/**
 * Iterations of the run; null if it has none, or if they are not known.
 */
iterations: Iterations | null,
/**
 * Functions in which the program computes; null if the run has no samples.
 */
functions: FunctionTimes | null, };

export type Compared = {
/**
 * Sentence that sums the comparison up.
 */
summary: string,
/**
 * Call paths of both runs, callers first: the position of the caller in this list.
 */
parent: Array<number | null>,
/**
 * Numbers of the call paths of the first run, and of the second: one, none, or several in one line.
 */
first: Array<Array<number>>, second: Array<Array<number>>,
/**
 * For each finding of the first run the same one in the second; null if that has none.
 */
findings: Array<FoundBeside | null>,
/**
 * Findings that only the second run has, as positions among its findings.
 */
only_second: Array<number>,
/**
 * Clause that compares the runs by iteration; null if they cannot be.
 */
iterations: string | null,
/**
 * For each row of the system tree of the first run the row of the second, -1 where there is none; null if they have the
 * same numbers. `locations` says the same of locations.
 */
rows: Array<number> | null, locations: Array<number> | null, };

export type FoundBeside = {
/**
 * Position among the findings of the second run, of which only the first are listed.
 */
finding: number, seconds: number, seconds_at_most: number, };

export type Fact = { label: string, value: string, };

export type PartOfTime = { metric: number, title: string, depth: number, seconds: number, share: number, wait: boolean, };

export type Finding = {
/**
 * Name of the wait, for people.
 */
title: string, pattern: string,
/**
 * Index of the metric, if the report has it.
 */
metric: number | null,
/**
 * Index of the call path, if the report has it.
 */
call: number | null,
/**
 * Last region of the call path.
 */
region: string,
/**
 * Regions of the call path, from the root on.
 */
path: Array<string>, file: string | null, line: number | null,
/**
 * Column of the call, where it tells the call from others on the same line.
 */
column: number | null,
/**
 * Number of the call among several on the same line, where there are no columns.
 */
nth: number | null, caller: string | null, seconds: number, seconds_at_most: number,
/**
 * Share of the run; null for start-up and shutdown.
 */
share: number | null,
/**
 * Certainty of the bounds; null if the report does not say.
 */
confidence: Confidence | null,
/**
 * Condition under which the wait holds, such as the latency of the network.
 */
condition: string | null, explanation: string, remedy: string,
/**
 * Sentence about the number of calls that waited; null if the report does not say.
 */
how_often: string | null,
/**
 * Causes of the wait, by their letters; null if they are not known.
 */
because: string | null,
/**
 * By how much the run would be shorter without the waits of the entry.
 */
gain: string | null,
/**
 * Sentence about the longest wait of a single call.
 */
worst_text: string | null,
/**
 * The longest wait of a single call.
 */
worst: Instance | null, origins: Share[], targets: Share[], };

export type Note = {
/**
 * Kind of note: `unexplained`, `polling`, `not computed`, `damaged` or `hint`.
 */
kind: string, text: string, };

export type Metrics = { metrics: Array<Metric>, };

export type Metric = { name: string, title: string, unit: string, description: string, parent: number | null,
/**
 * True if the report stores values of the metric.
 */
readable: boolean,
/**
 * True if a span of time can restrict the metric.
 */
in_span: boolean,
/**
 * Value over all locations, in the whole program.
 */
value: number,
/**
 * Value without that of its sub-metrics.
 */
own: number, wait: boolean, meaning: string | null, remedy: string | null, };

export type Calls = { calls: Array<CallPath>, };

export type CallPath = { name: string, parent: number | null,
/**
 * Key of the call path: the same in every report for the same names from the root on.
 */
key: string,
/**
 * File from which the region is called.
 */
file: string | null, line: number | null,
/**
 * Class of activity that its time belongs to.
 */
class: string,
/**
 * True if it is a part of start-up or shutdown.
 */
outside: boolean,
/**
 * File in which the region is defined.
 */
module: string | null, };

export type CallLengths = {
/**
 * `ready`, `making` while the index of the timeline is made, or `missing`.
 */
state: string,
/**
 * Reason why there are none.
 */
why: string, calls: Array<number>,
/**
 * Median, where it is known, and the longest of all, in seconds.
 */
median: Array<number | null>, longest: Array<number>, };

export type CallValues = { calls: Array<number>, inclusive: Array<number>, exclusive: Array<number>, };

export type SystemTree = { rows: number, roots: number,
/**
 * Numbers of children of the rows, run-length encoded: a number, and how many consecutive rows have it.
 */
children: Array<[number, number]>, locations: number, processes: number,
/**
 * Number of rows in a chunk of names or values.
 */
chunk: number, };

export type SystemNames = { names: Array<string>,
/**
 * Kind of each row: machine, node, process, thread.
 */
kinds: Array<string>, };

export type SystemValues = { values: Array<number>, };

export type SystemFound = { rows: Array<number>, names: Array<string>, more: boolean, };

export type Spread = { total: number, locations: FiveNumbers, processes: FiveNumbers,
/**
 * The locations with the greatest values, the greatest first.
 */
worst: Array<Worst>, };

export type FiveNumbers = { count: number, min: number, q1: number, median: number, q3: number, max: number, mean: number, imbalance: number, };

export type Worst = { row: number, location: number, name: string, value: number, };

export type Topologies = { topologies: Array<Topology>, };

export type Topology = { name: string, dimensions: Array<string>, sizes: Array<number>,
/**
 * Coordinates of each location, one for each dimension; -1 where a location has none.
 */
coordinates: Array<number>, };

export type LocationNames = { first: number, names: Array<string>, };

export type Source = { file: string, line: number,
/**
 * Number of the first line that is shown.
 */
first: number, lines: Array<string>,
/**
 * Number of lines that the file has; 0 if only the lines around the call were read.
 */
count: number,
/**
 * Reason why there are no lines; null if there are.
 */
missing: string | null, };

export type Matrix = {
/**
 * True if the report has a communication matrix.
 */
present: boolean,
/**
 * Number of parties in the whole matrix.
 */
parties: number,
/**
 * Kind of a party: `process` or `node`.
 */
unit: string,
/**
 * First party and number of parties of the rows in this part. `columns` says the same of the columns.
 */
rows: [number, number], columns: [number, number],
/**
 * Number of parties that a cell stands for on each side.
 */
step: number, row_names: Array<string>, column_names: Array<string>,
/**
 * Cells that are not empty, as parallel lists: row, column, and the figures of the cell.
 */
origin: Array<number>, target: Array<number>, operations: Array<number>, bytes: Array<number>, seconds: Array<number>, wait: Array<number>,
/**
 * Kinds of communication that occur in the whole matrix.
 */
kinds: Array<string>,
/**
 * Waits that it has: `all` with a known partner, `progress` of one-sided operations only, or `none` if the report was not
 * searched for waits.
 */
waits: string, };

export type Bars = { classes: Array<string>,
/**
 * True if the report was searched for waits. Otherwise their time is not known, and part of that of other classes.
 */
searched: boolean,
/**
 * Seconds of each class over all locations.
 */
whole: Array<number>,
/**
 * Number of bars in total.
 */
count: number,
/**
 * Names of the bars in this answer.
 */
names: Array<string>,
/**
 * Number of the process or node that each bar stands for.
 */
numbers: Array<number>,
/**
 * Seconds of each class: a list with one value for each bar.
 */
values: Array<Array<number>>,
/**
 * Number of processes or nodes that a bar stands for: with more than one, values are means.
 */
step: number,
/**
 * Least and greatest waiting among those of each bar, in seconds; empty if each bar stands for one.
 */
least_wait: Array<number>, most_wait: Array<number>, };

export type TimelineAbout = {
/**
 * `ready`, `making` while the index is made, or `missing`.
 */
state: string,
/**
 * Reason why there is none.
 */
why: string,
/**
 * Part of the index that is made, from 0 to 1.
 */
done: number, locations: number,
/**
 * Time from the first event to the last.
 */
length: number,
/**
 * Number of things that locations did.
 */
slices: number,
/**
 * Time at which all locations have started their runtime, or 0.
 */
started: number,
/**
 * Time at which a picture of the whole run opens: after its start-up, if that is long.
 */
opens: number,
/**
 * Names of classes, by the numbers that other answers have.
 */
classes: Array<string>,
/**
 * Titles of waits, by the numbers that other answers have.
 */
waits: Array<string>, nodes: Array<TimelineNode>, };

export type TimelineNode = { name: string, first: number, count: number, };

export type TimelineRows = { rows: Array<TimelineRow>,
/**
 * Number of locations that have a row, or would have one if there were room; 0 if rows were asked for by their keys.
 */
of: number, };

export type TimelineRow = {
/**
 * Text by which the row is asked for.
 */
key: string,
/**
 * First location, and the one after the last.
 */
first: number, end: number,
/**
 * Number of locations.
 */
count: number,
/**
 * If the locations are not consecutive: begin and end of each stretch, one after the other.
 */
parts: Array<number>,
/**
 * Number of the node, or of the group of locations that behave alike, that the row stands for, and how many nodes there are
 * from that on.
 */
node: number | null, nodes: number,
/**
 * For a group: the mean share of the time in which one of its locations does something else than the group.
 */
differ: number | null,
/**
 * For one node or group: true if rows of its locations follow.
 */
open: boolean | null, name: string,
/**
 * Seconds of the whole run: all, those of waits, and those that others waited for the row.
 */
seconds: number, wait: number, blame: number,
/**
 * True if others waited for the locations of the row more than for others.
 */
waited_for: boolean, };

export type TimelinePhases = {
/**
 * Phases and parameters of the run.
 */
axes: Array<TimelineAxis>,
/**
 * The one that is shown; empty if there is none.
 */
name: string,
/**
 * Reason why some are missing, or an empty text.
 */
missing: string, row: Array<number>, from: Array<number>, to: Array<number>,
/**
 * Number of the instance, or value of the parameter.
 */
value: Array<string>, };

export type TimelineAxis = { name: string, is_phase: boolean,
/**
 * Number of instances or of different values.
 */
count: number, };

export type TimelineCounters = { counters: Array<TimelineCounter>, };

export type TimelineCounter = { name: string, unit: string,
/**
 * True if samples are accumulated, so that rates are shown.
 */
accumulates: boolean, };

export type TimelineSamples = {
/**
 * Reason why some are missing, or an empty text.
 */
missing: string, unit: string, lists: Array<TimelineSampleList>, };

export type TimelineSampleList = { row: number, location: number, name: string, from: Array<number>, to: Array<number>, value: Array<number>, };

export type TimelineSlices = { row: Array<number>, from: Array<number>, to: Array<number>,
/**
 * Call path, or -1 outside of all regions.
 */
call: Array<number>, class: Array<number>,
/**
 * Number of the wait, or -1 if it is none; and the location that ended it.
 */
wait: Array<number>, culprit: Array<number>, };

export type TimelineWaits = { waits: Array<TimelineWait>, };

export type TimelineWait = { location: number, from: number, to: number, call: number | null, title: string,
/**
 * Location that ended the wait.
 */
culprit: number, };

export type TimelineAt = { location: number, name: string, from: number, to: number, call: number | null,
/**
 * Class, or `none` before the first and after the last event.
 */
class: string, wait: TimelineWait | null,
/**
 * What the wait means, as a clause.
 */
meaning: string | null, culprit_name: string | null,
/**
 * What the location that was waited for did meanwhile, what took longest first.
 */
meanwhile: Array<TimelineDoing>,
/**
 * Where samples found the location if it computes, or the one that it waits for meanwhile, most samples first.
 */
computing: Array<TimelineComputing>,
/**
 * Operations of the location in the call, the longest first, and the number of all of them.
 */
operations: Array<TimelineOperation>, operations_count: number, };

export type TimelineComputing = { place: string, samples: number, };

export type TimelineOperation = { kind: string,
/**
 * Location that it acted on or that received the message, and its name.
 */
partner: number, partner_name: string, from: number, to: number, bytes: number, };

export type TimelineOperations = {
/**
 * Reason why some or all are missing, or an empty text.
 */
missing: string,
/**
 * Number of operations that the arrows stand for.
 */
count: number, kind: Array<string>, origin: Array<number>, partner: Array<number>, from: Array<number>, to: Array<number>, bytes: Array<number>,
/**
 * How many operations an arrow stands for.
 */
counts: Array<number>, collectives: Array<TimelineCollective>, held: TimelineHeld, };

export type TimelineHeld = { location: Array<number>, from: Array<number>, to: Array<number>, };

export type TimelineFindings = { seconds: Array<number | null>, };

export type TimelineCollective = { location: Array<number>, from: Array<number>, to: Array<number>, };

export type TimelineDoing = { call: number | null, class: string, count: number, seconds: number, };

export type TimelineInstances = {
/**
 * Number of all instances.
 */
count: number,
/**
 * Greatest number of instances that are kept.
 */
most: number, worst: Array<TimelineInstance>, };

export type TimelineInstance = { location: number, culprit: number, call_from: number, call_to: number, from: number, to: number, seconds: number, };

export type TimelineCritical = { location: Array<number>, from: Array<number>, to: Array<number>,
/**
 * Number of steps, if they are too many to list.
 */
omitted: number,
/**
 * Then: the share of each of [`TimelineCritical::columns`] columns, as a part of 255, that the path spends at each location.
 */
columns: number, dense_location: Array<number>, dense_column: Array<number>, dense_share: Array<number>, };

export type TimelineWhole = {
/**
 * Time up to which slices are listed: the end of the run, unless there are too many.
 */
until: number,
/**
 * Names of the locations.
 */
names: Array<string>,
/**
 * Ids of the waits and what they mean, by their numbers.
 */
patterns: Array<string>, meanings: Array<string>,
/**
 * For each location, the begin of its first slice, and the number of all slices up to its last one.
 */
starts: Array<number>, ends: Array<number>,
/**
 * Ends of the slices. Each begins where the one before ends.
 */
to: Array<number>,
/**
 * Call path, or -1 outside of all regions.
 */
call: Array<number>, class: Array<number>,
/**
 * Number of the wait, or -1 if it is none; and the location that ended it.
 */
wait: Array<number>, culprit: Array<number>, critical_location: Array<number>, critical_from: Array<number>, critical_to: Array<number>, };

export type TimelineTotals = {
/**
 * True if there is too much to add up.
 */
too_many: boolean, totals: Array<TimelineTotal>, };

export type TimelineTotal = { call: number | null, class: number, count: number, seconds: number, };

export type Cause = {
/**
 * Letters of the cause in `findings.json`.
 */
id: string,
/**
 * Index of the metric of delay costs, if the report has it.
 */
metric: number | null,
/**
 * Index of the call path, if the report has it.
 */
call: number | null,
/**
 * Regions of the call path, from the root on.
 */
path: Array<string>,
/**
 * Waits that it caused in seconds, over all locations.
 */
seconds: number,
/**
 * Share of the run.
 */
share: number | null,
/**
 * True if processes computed; false for calls, and for what was not recorded.
 */
computes: boolean,
/**
 * Sentence about the time of computing; null for calls.
 */
how_long: string | null,
/**
 * Sentence about the reasons why it computed longer than others; null if no counters were recorded.
 */
why_longer: string | null,
/**
 * Functions in which it computed longer, if there are samples.
 */
inside: string | null,
/**
 * Functions in which it computed longer, most first, if there are samples.
 */
functions: Computed[],
/**
 * Sentence about the waits that it caused.
 */
costs: string,
/**
 * Sentence about what was passed on; null if nothing was.
 */
passed_on: string | null,
/**
 * Processes that caused most.
 */
processes: Share[],
/**
 * Kind of the cause, what happens, what it costs, what to change and what that gains, in the words of the verdict.
 */
point: Point,
/**
 * For each place of `point` a call path that is called there, if the report has one.
 */
places: Array<number | null>,
/**
 * The finding that lists the waits which it made longest; null if none is listed.
 */
seen: Seen | null, };

export type Seen = {
/**
 * Position in the list of findings.
 */
finding: number,
/**
 * Number of the entry.
 */
entry: number,
/**
 * Position in the entry.
 */
part: number, };

export type WhatIf = {
/**
 * Description of the change.
 */
change: string,
/**
 * Length of the run as recorded and as predicted, with the bounds of the prediction, in seconds; null if it cannot be
 * predicted.
 */
recorded: number | null, predicted: number | null, low: number | null, high: number | null,
/**
 * Reason why it cannot be predicted.
 */
reason: string | null, };

export type Many = {
/**
 * Name of the directory.
 */
directory: string,
/**
 * One sentence about all runs, without a full stop.
 */
verdict: string,
/**
 * Number of runs beyond the bound, which are not listed.
 */
left_out: number, runs: Array<ListedRun>,
/**
 * By program, the oldest first.
 */
versions: Array<Version>,
/**
 * By program, then by processes, then by version, the oldest first.
 */
sets: Array<VersionSet>, series: Array<ScalingSeries>, };

export type ListedRun = {
/**
 * Identifier of the run in requests.
 */
id: string, name: string, program: string, version: string,
/**
 * Time of the recording in milliseconds since 1970.
 */
milliseconds: number, processes: number | null,
/**
 * Seconds without start-up and shutdown.
 */
length: number | null,
/**
 * Parallel efficiency, from 0 to 1.
 */
parallel: number | null,
/**
 * Time in waits as a part of all.
 */
waiting: number | null,
/**
 * What costs most.
 */
cause: string,
/**
 * State of the run, if something is wrong with it.
 */
note: string, };

export type VersionSet = { program: string, version: string, processes: number,
/**
 * Identifiers of the runs.
 */
runs: Array<string>,
/**
 * Mean length of the runs in seconds.
 */
length: number,
/**
 * The change since the version before as a part of its length.
 */
change: number | null,
/**
 * True if it became longer by more than chance.
 */
slower: boolean, };

export type Version = { program: string, name: string,
/**
 * Mean change over all numbers of processes.
 */
change: number | null,
/**
 * True if its runs are longer by more than chance.
 */
slower: boolean,
/**
 * The change and its reason in words; empty if there is none beyond chance.
 */
text: string,
/**
 * Identifiers of two runs that show the change.
 */
shown_by: Array<string> | null, };

export type ScalingSeries = { program: string, version: string,
/**
 * Its runs, that with the fewest processes first.
 */
points: Array<ScalingPoint>,
/**
 * Call paths that stop scaling.
 */
growing: Array<GrowingPath>, };

export type ScalingPoint = { name: string, processes: number, length: number, speedup: number,
/**
 * The speedup as a part of what the processes promise.
 */
scaling: number, parallel: number | null, load_balance: number | null, communication: number | null, waiting: number, };

export type GrowingPath = { path: string,
/**
 * Number of processes from which on it takes longer.
 */
processes: number,
/**
 * Its growth as a part of the last run.
 */
share: number, };
