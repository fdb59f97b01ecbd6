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
points: Array<Point>, };

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
 * Kind of the point, in the words of the field.
 */
kind: Kind,
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
region: string, };
