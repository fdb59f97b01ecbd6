// Made from crates/dwell-serve/src/types.rs: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-serve types`.

export type Runs = {
/**
 * Version of this interface.
 */
version: number,
/**
 * Version of the program.
 */
program: string, runs: Array<RunName>, };

export type RunName = {
/**
 * Its name in requests.
 */
id: string, title: string,
/**
 * Where it came from, for people.
 */
path: string, };

export type Overview = { title: string, facts: Array<Fact>,
/**
 * Seconds over all locations.
 */
time: number,
/**
 * Seconds of the run, over all locations: without calls that start or end a runtime.
 */
run: number,
/**
 * Seconds in calls that start a runtime.
 */
startup: number,
/**
 * Seconds in calls that end a runtime.
 */
shutdown: number,
/**
 * Seconds of waits of the run, the lower bound; nothing if nobody has looked for waits.
 */
waits: number | null,
/**
 * The upper bound.
 */
waits_at_most: number | null, parts: Array<PartOfTime>,
/**
 * Findings by call path, in the order in which they are shown.
 */
entries: Array<Entry>, findings: Array<Finding>,
/**
 * How many entries are not listed.
 */
more: number,
/**
 * What could not be judged, what is in doubt, what is damaged.
 */
notes: Array<Note>, };

export type Fact = { label: string, value: string, };

export type PartOfTime = { metric: number, title: string, depth: number, seconds: number, share: number, wait: boolean, };

export type Entry = {
/**
 * run, start-up, shutdown.
 */
phase: string, seconds: number, at_most: number,
/**
 * Part of the run; nothing for start-up and shutdown.
 */
share: number | null, share_at_most: number | null,
/**
 * Whether it is too small to be shown by itself.
 */
small: boolean,
/**
 * Places in the list of findings.
 */
findings: Array<number>, };

export type Instance = { who: string,
/**
 * Seconds after the first event.
 */
begin: number,
/**
 * How long; the upper bound if there are two.
 */
at_most: number, on_whom: string | null, meanwhile: Meanwhile | null, };

export type Meanwhile = {
/**
 * Seconds outside of all calls of runtimes.
 */
computing: number, calls: Array<Doing>, };

export type Doing = { region: string, file: string | null, line: number | null, column: number | null, calls: number, seconds: number,
/**
 * Whether they served others: yes, maybe, no.
 */
serves: string,
/**
 * Whether they served nobody because they acted on their own process.
 */
on_itself: boolean, };

export type Finding = {
/**
 * Name of the wait.
 */
title: string, pattern: string,
/**
 * The metric, if the report has it.
 */
metric: number | null,
/**
 * The call path, if the report has it.
 */
call: number | null,
/**
 * Last region of the path.
 */
region: string,
/**
 * Its regions from the root on.
 */
path: Array<string>, file: string | null, line: number | null,
/**
 * The column, where it tells the call from others on the same line.
 */
column: number | null,
/**
 * Which of several calls on the same line it is, where there are no columns.
 */
nth: number | null, caller: string | null, seconds: number, at_most: number,
/**
 * Part of the run; nothing for start-up and shutdown.
 */
share: number | null,
/**
 * exact, by rule, lower bound, between bounds, inferred; nothing if the report does not say.
 */
confidence: string | null,
/**
 * On what condition.
 */
condition: string | null, explanation: string, remedy: string, visits: number | null,
/**
 * How many calls waited.
 */
calls: number | null,
/**
 * The longest wait of a single call.
 */
worst: Instance | null,
/**
 * At how many locations.
 */
locations: number | null, origins: Array<Party>, targets: Array<Party>, };

export type Party = { who: string, seconds: number, at_most: number, };

export type Note = {
/**
 * unexplained, polling, not computed, damaged, hint.
 */
kind: string, text: string, };

export type Metrics = { metrics: Array<Metric>, };

export type Metric = { name: string, title: string, unit: string, description: string, parent: number | null,
/**
 * Whether values can be shown.
 */
readable: boolean,
/**
 * In the whole program.
 */
value: number,
/**
 * Less its sub-metrics.
 */
own: number, wait: boolean, meaning: string | null, remedy: string | null, };

export type Calls = { calls: Array<CallPath>, };

export type CallPath = { name: string, parent: number | null,
/**
 * The same for the same names from the root on, in any report.
 */
key: string,
/**
 * Where it is called.
 */
file: string | null, line: number | null,
/**
 * What its time is spent for.
 */
class: string,
/**
 * Where the region is defined.
 */
module: string | null, };

export type CallValues = { calls: Array<number>, inclusive: Array<number>, exclusive: Array<number>, };

export type SystemTree = { rows: number, roots: number,
/**
 * How many children rows have: the number, and how many rows in sequence have it.
 */
children: Array<[number, number]>, locations: number, processes: number,
/**
 * Rows in a chunk of names or values.
 */
chunk: number, };

export type SystemNames = { names: Array<string>,
/**
 * What each is: machine, node, process, thread.
 */
kinds: Array<string>, };

export type SystemValues = { values: Array<number>, };

export type SystemFound = { rows: Array<number>, names: Array<string>, more: boolean, };

export type Spread = { total: number, locations: FiveNumbers, processes: FiveNumbers,
/**
 * Who has most.
 */
worst: Array<Worst>,
/**
 * How many locations have how much, in equal steps from the least to the greatest.
 */
histogram: Array<number>, };

export type FiveNumbers = { count: number, min: number, q1: number, median: number, q3: number, max: number, mean: number, imbalance: number, };

export type Worst = { row: number, location: number, name: string, value: number, };

export type Topologies = { topologies: Array<Topology>, };

export type Topology = { name: string, dimensions: Array<string>, sizes: Array<number>,
/**
 * For each location its coordinates, one for each dimension; -1 where it has none. Empty if
 * locations simply follow one another.
 */
coordinates: Array<number>, };

export type LocationNames = { first: number, names: Array<string>, };

export type Source = { file: string, line: number, first: number, lines: Array<string>,
/**
 * Why there is none.
 */
missing: string | null, };

export type Matrix = {
/**
 * Whether the report has it.
 */
present: boolean,
/**
 * How many parties there are.
 */
parties: number,
/**
 * What a party is: process or node.
 */
unit: string,
/**
 * First party of rows and of columns, and how many are asked for.
 */
rows: [number, number], columns: [number, number],
/**
 * How many parties a cell stands for on each side.
 */
step: number, row_names: Array<string>, column_names: Array<string>,
/**
 * Cells that are not empty: row, column, and how much.
 */
origin: Array<number>, target: Array<number>, operations: Array<number>, bytes: Array<number>, seconds: Array<number>, wait: Array<number>,
/**
 * Kinds that there are.
 */
kinds: Array<string>, };

export type Bars = { classes: Array<string>,
/**
 * Of all.
 */
whole: Array<number>,
/**
 * How many bars there are.
 */
count: number,
/**
 * The bars asked for.
 */
names: Array<string>,
/**
 * The process or node that each is.
 */
numbers: Array<number>,
/**
 * By class; each a value for each bar.
 */
values: Array<Array<number>>, };
