// Made from crates/dwell-report/src/findings: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-report findings`.

export type Entry = {
/**
 * Positions in the list of findings, counted from 0.
 */
findings: Array<number>,
/**
 * Gain without these waits; null if it was not computed.
 */
gain: Gain | null,
/**
 * Number by which the list of `dwell analyze` and all commands name the waits of the call path.
 */
id: number,
/**
 * Phase of the program that the call path belongs to.
 */
phase: Phase,
/**
 * Sum of the lower bounds of the findings.
 */
seconds: number,
/**
 * Sum of the upper bounds of the findings.
 */
seconds_at_most: number,
/**
 * Lower bound as a part of `run_seconds`, from 0 to 1; null for start-up and shutdown.
 */
share: number | null,
/**
 * Upper bound as a part of `run_seconds`; null for start-up and shutdown.
 */
share_at_most: number | null,
/**
 * True if the middle of both bounds is less than 0.1 % of `run_seconds`.
 */
small: boolean, };

export type Gain = {
/**
 * Why the gain cannot be predicted; null if it can.
 */
reason: string | null,
/**
 * Gain that is predicted if waits are as long as their lower bounds; null if it cannot be predicted.
 */
seconds: number | null,
/**
 * Least gain over everything that is uncertain.
 */
seconds_at_least: number | null,
/**
 * Greatest gain over everything that is uncertain.
 */
seconds_at_most: number | null, };

export type Instance = {
/**
 * Begin of the wait, in seconds after the first event.
 */
begin_seconds: number,
/**
 * Activity of the process that was waited for, during the wait; null if it is not known.
 */
meanwhile: Meanwhile | null,
/**
 * Process that was waited for; null if it is not known.
 */
on_whom: string | null,
/**
 * Length of the wait; its upper bound if there are two bounds.
 */
seconds_at_most: number,
/**
 * Process that waited.
 */
who: string,
/**
 * Name of the window that the operation accessed, for waits for progress; null if it is not known.
 */
window: string | null, };

export type Meanwhile = {
/**
 * Calls of runtimes, the longest first; at most 5.
 */
calls: Array<Doing>,
/**
 * Time outside of all calls of runtimes.
 */
computing_seconds: number, };

export type Doing = {
/**
 * Function that contains the call; null if it is not known.
 */
caller: string | null,
/**
 * Number of calls that the process made during the wait.
 */
calls: number,
/**
 * Column of the call, where several calls are on one line; otherwise null.
 */
column: number | null,
/**
 * Source file of the call; null if it is not known.
 */
file: string | null,
/**
 * Line of the call, counted from 1; null if it is not known.
 */
line: number | null,
/**
 * Position among the calls of the same function on this line, counted from 1 in the order of their first
 * calls, where several are on one line and columns are not known; otherwise null.
 */
nth_on_line: number | null,
/**
 * True if the calls served no requests of others because they acted on their own process.
 */
on_itself: boolean,
/**
 * True if the calls served no requests although calls of this function do or may, because the operation
 * outlived at least ten of them.
 */
outlived: boolean,
/**
 * Name of the function that was called.
 */
region: string,
/**
 * Time in the calls during the wait.
 */
seconds: number,
/**
 * Tells whether the calls carry out operations of other processes.
 */
serves_others: Serves, };

export type Share = {
/**
 * Lower bound of the part.
 */
seconds: number,
/**
 * Upper bound of the part.
 */
seconds_at_most: number,
/**
 * Name of the process, or of the node if the run has too many processes to list.
 */
who: string, };

export type Phase = "run" | "start-up" | "shutdown";

export type Confidence = "exact" | "by rule" | "lower bound" | "between bounds" | "inferred";

export type Serves = "yes" | "maybe" | "no";

export type Efficiency = {
/**
 * Computing of the location that computes longest, as a part of the length of the run.
 */
communication: number,
/**
 * Mean computing of all locations, as a part of that of the location which computes longest.
 */
load_balance: number,
/**
 * Mean computing of all locations, as a part of the length of the run: the product of the other two.
 */
parallel: number,
/**
 * Predicted length of the run without waits for progress, as a part of its length; null if it was not computed.
 */
progress: number | null,
/**
 * Computing of the location that computes longest, as a part of the predicted length of the run on an ideal network
 * without waits for progress; null if it was not computed.
 */
serialisation: number | null,
/**
 * Predicted length of the run on an ideal network, as a part of its length, both without waits for progress; null if
 * it was not computed. Serialisation, progress and transfer multiply to communication.
 */
transfer: number | null, };

export type Verdict = {
/**
 * One sentence that says how much of the run is lost, and to what.
 */
head: string,
/**
 * What the run loses time to.
 */
losses: Array<Loss>,
/**
 * What costs most, most first; at most 3.
 */
points: Array<Point>,
/**
 * Since when the run is slower or faster, as a sentence without a full stop; empty if it is the same all the time, or
 * if it has no iterations.
 */
since: string, };

export type Loss = {
/**
 * What the time goes to, in a word or two.
 */
name: string,
/**
 * Lower bound of the time.
 */
seconds: number,
/**
 * Upper bound of the time.
 */
seconds_at_most: number,
/**
 * Lower bound as a part of `run_seconds`, from 0 to 1.
 */
share: number,
/**
 * Upper bound as a part of `run_seconds`.
 */
share_at_most: number, };

export type Sampled = {
/**
 * Set if the processor time was read where nearly all of the computing begins and ends; otherwise it is the sum of samples.
 */
exact: boolean,
/**
 * Set if samples of these processes follow; otherwise a stretch without samples may not have been sampled.
 */
goes_on: boolean,
/**
 * Processor time of the process that caused most, or the mean over `node`.
 */
on_core_seconds: number,
/**
 * Mean processor time of the other locations; null if no other computes there.
 */
others_on_core_seconds: number | null,
/**
 * Mean time in which the other locations were ready but had no core; null if it is not known or no other computes there.
 */
others_ready_seconds: number | null,
/**
 * Number of samples of the other locations.
 */
others_samples: number,
/**
 * Functions that take longer there than at the others, most first; at most 5. Those whose difference may be chance are
 * left out.
 */
parts: Array<Computed>,
/**
 * Time in which the process that caused most was ready but had no core, or the mean over `node`; null if it was on a
 * core but for moments, or if the system does not count it.
 */
ready_seconds: number | null,
/**
 * Number of samples of the processes that stand out.
 */
samples: number, };

export type Computed = {
/**
 * Source file; null if it is not known.
 */
file: string | null,
/**
 * Name of the function.
 */
function: string,
/**
 * Function of a library in which it spent most of that time; null if there is none.
 */
inside: string | null,
/**
 * Line with most samples, counted from 1; null if it is not known.
 */
line: number | null,
/**
 * By how much `seconds` may be wrong, with a probability of 5 %.
 */
margin_seconds: number,
/**
 * Number of samples of the processes that stand out.
 */
samples: number,
/**
 * Processor time that it takes more than at the others; all of it if there are no others.
 */
seconds: number, };

export type FunctionTimes = {
/**
 * Functions with most processor time, most first; at most 20.
 */
list: Array<FunctionTime>,
/**
 * Number of samples of all functions.
 */
samples: number,
/**
 * Processor time of all functions.
 */
seconds: number, };

export type FunctionTime = {
/**
 * Source file of `line`; null if it is not known.
 */
file: string | null,
/**
 * Name of the function.
 */
function: string,
/**
 * Function of a library in which it spent most of that time; null if there is none.
 */
inside: string | null,
/**
 * Line with most samples, counted from 1; null if it is not known.
 */
line: number | null,
/**
 * By how much `seconds` may be wrong, with a probability of 5 %.
 */
margin_seconds: number,
/**
 * Process with most processor time in the function.
 */
most_process: string,
/**
 * Processor time of that process in the function.
 */
most_seconds: number,
/**
 * Number of samples in it.
 */
samples: number,
/**
 * Processor time of all processes.
 */
seconds: number,
/**
 * The time as a part of that of all functions, from 0 to 1.
 */
share: number, };

export type Iterations = {
/**
 * Changes over the run, the first one first.
 */
changes: Array<IterationChange>,
/**
 * Number of iterations that all processes made.
 */
count: number,
/**
 * Call with which an iteration ends.
 */
ends_with: Step,
/**
 * Number of iterations in each element of `times`; the last may have fewer.
 */
group: number,
/**
 * Times of the iterations in their order, at most 256. The first contains what precedes the first iteration.
 */
times: Array<IterationTimes>, };

export type IterationTimes = {
/**
 * Begin of the first of the iterations at the process that begins it first, in seconds after the first event.
 */
begin_seconds: number,
/**
 * Time that a process computed.
 */
computing_seconds: number,
/**
 * First of the iterations, counted from 1.
 */
first: number,
/**
 * Time that the process computed which computed longest.
 */
longest_computing_seconds: number,
/**
 * Name of that process in the iteration where it computed longest; null if it is not known.
 */
longest_who: string | null,
/**
 * Length of an iteration.
 */
seconds: number,
/**
 * Time that a process waited, by the middle of the bounds.
 */
waits_seconds: number, };

export type IterationChange = {
/**
 * True if computing changed, and false if iterations changed for another reason.
 */
computing: boolean,
/**
 * Computing in an iteration that is concerned, and at the end of a drift: of `who`, or the mean of all processes; 0
 * if computing does not explain the change.
 */
computing_seconds: number,
/**
 * Distance between the iterations concerned, if it is always the same; otherwise null.
 */
every: number | null,
/**
 * First iteration concerned, counted from 1.
 */
iteration: number,
/**
 * Number of iterations concerned.
 */
iterations: number,
/**
 * Kind of the change.
 */
kind: IterationChangeKind,
/**
 * Length of an iteration that is concerned, as the mean over all processes, and at the end of a drift.
 */
seconds: number,
/**
 * The change as a sentence without a full stop.
 */
text: string,
/**
 * The same in other iterations, and at the begin of a drift.
 */
usual_computing_seconds: number,
/**
 * Length of other iterations, and at the begin of a drift.
 */
usual_seconds: number,
/**
 * Process whose computing explains the change; null if none stands out.
 */
who: string | null, };

export type IterationChangeKind = "step" | "drift" | "outliers";

export type Point = {
/**
 * Advice on what to change, in full sentences.
 */
change: string,
/**
 * What it costs, as sentences. Empty for communication that could take less time, whose cost is its gain.
 */
cost: string,
/**
 * Predicted gain in words, such as `122 to 138 ms of 1.24 s (9.8 to 11 %)`. Empty if none was predicted.
 */
gain: string,
/**
 * Number or letter of the finding or cause; empty for other points.
 */
id: string,
/**
 * Functions that take the time, as a sentence without a full stop; empty without samples.
 */
inside: string,
/**
 * Kind of the point, in the words of the field.
 */
kind: Kind,
/**
 * Line that takes most of it, if samples tell it; otherwise null.
 */
line: Step | null,
/**
 * Calls at which to look at the source: the two around a stretch of computing, or the call that the point is about;
 * empty if there is none.
 */
places: Array<Step>,
/**
 * Middle of the bounds of what it costs, over all locations.
 */
seconds: number,
/**
 * The same as a part of `run_seconds`.
 */
share: number,
/**
 * What happens, as a sentence without a full stop.
 */
what: string,
/**
 * Processes that it is about; empty if it is about no single ones.
 */
who: string, };

export type Kind = "load imbalance" | "missing progress" | "serialised lock" | "late signal" | "shared cores" | "element-wise transfers" | "transfers one by one" | "hot target" | "slow transfers" | "uneven exit" | "slow call" | "polling" | "late start" | "unexplained";

export type Step = {
/**
 * Function that contains the call; null if it is not known.
 */
caller: string | null,
/**
 * Column of the call, where several calls are on one line; otherwise null.
 */
column: number | null,
/**
 * Source file of the call; null if it is not known.
 */
file: string | null,
/**
 * Line of the call, counted from 1; null if it is not known.
 */
line: number | null,
/**
 * Position among the calls of the same function on this line, counted from 1 in the order of their first
 * calls, where several are on one line and columns are not known; otherwise null.
 */
nth_on_line: number | null,
/**
 * Name of the function that was called, or of another region of the program.
 */
region: string,
/**
 * Name of the wrapper library that is called here and makes the call, such as `mpi4py`; null if there is none.
 */
through: string | null, };
