/*
 * Which OpenSHMEM calls make progress for others?
 *
 * With some transports a get is carried out by the network or by the origin
 * alone. With others the target's library has to do it, and the library runs
 * only while the target is inside a call; and not every call does it. This
 * program measures which ones do.
 *
 * For each call, PE 0 is busy for 200 ms and makes that call every millisecond
 * (or once, if it blocks), while PE 1, 50 ms into it, gets 8 bytes from PE 0.
 * If the call serves the get, it takes a millisecond or two; if not, it takes
 * until PE 0 reaches a barrier, 150 ms later. The first row, with no call at
 * all, tells whether a target is needed in the first place: if the get is
 * served there, progress is made by "hardware" and the other rows say nothing.
 *
 *   oshcc -O2 -g -o progress-probe progress-probe.c
 *   oshrun -np 2 ./progress-probe [--json] [--static] [--rounds R]
 *   oshrun -np 2 -x UCX_TLS=tcp,self ./progress-probe
 *
 *   --json      machine-readable output
 *   --static    use static objects instead of the symmetric heap: a transport
 *               may share the heap between processes but not static objects
 *   --rounds R  measure every call R times and report the median (default 3)
 *
 * The output is one row per call: yes, no or hardware, and the median latency
 * of the get in milliseconds. PEs above 1 only take part in collective calls.
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 200.0   /* PE 0 computes and calls for so long */
#define DELAY_MS 50.0   /* PE 1 issues its get so long after the start */
#define PERIOD_MS 1.0   /* PE 0 makes a call so often */
#define SERVED_MS ((BUSY_MS - DELAY_MS) / 2)
#define STUCK_S 60      /* a get that no call ever serves */
#define MAX_ROUNDS 99
#define VALUE 4711

/* What the calls work on: symmetric heap or, with --static, a static object. */
struct memory {
  long target;              /* what PE 1 gets from PE 0 */
  long inbox[8];            /* what PE 0 writes at PE 1 */
  long flag;                /* what PE 0 waits for */
  long other_flag;          /* never written */
  long lock, free_lock;
  long source[8];
  long reduced[8], reduce_work[8];
  long gathered[16];
};

static struct memory static_memory;
static struct memory *mem = &static_memory;
static long sync_words[SHMEM_SYNC_SIZE];
static long reduce_sync[SHMEM_REDUCE_SYNC_SIZE];
static double latency_ms;           /* of the last get, at PE 1 */

static int me, npes;
static int self, peer;
static long value;
static volatile const char *running = "start";

/* How PE 0 and PE 1 take part. */
enum kind {
  REPEATED,  /* PE 0 calls again and again, no one else does */
  PAIR,      /* PE 0 calls once, PE 1 answers after its get */
  EVERYONE   /* as PAIR, and all other PEs answer too */
};

struct probe {
  const char *name;
  enum kind kind;
  void (*call)(void);    /* at PE 0 */
  void (*answer)(void);  /* at PE 1, after the get */
};

static void nothing(void) {}
static void call_my_pe(void) { value = shmem_my_pe(); }
static void call_ptr(void) { value = shmem_ptr(mem->inbox, peer) != NULL; }
static void call_p(void) { shmem_long_p(mem->inbox, 1, peer); }
static void call_put(void) { shmem_long_put(mem->inbox, mem->source, 8, peer); }
static void call_iput(void) {
  shmem_long_iput(mem->inbox, mem->source, 2, 1, 4, peer);
}
static void call_put_nbi(void) {
  shmem_long_put_nbi(mem->inbox, mem->source, 8, peer);
}
static void call_put_self(void) {
  shmem_long_put(mem->inbox, mem->source, 8, self);
}
static void call_g(void) { value = shmem_long_g(&mem->target, peer); }
static void call_get(void) { shmem_long_get(&value, &mem->target, 1, peer); }
static void call_get_self(void) {
  shmem_long_get(&value, &mem->target, 1, self);
}
static void call_iget(void) {
  shmem_long_iget(mem->gathered, mem->inbox, 1, 2, 4, peer);
}
static void call_get_nbi(void) {
  shmem_long_get_nbi(mem->gathered, mem->inbox, 1, peer);
}
static void call_add(void) { shmem_long_atomic_add(mem->inbox, 1, peer); }
static void call_fetch_add(void) {
  value = shmem_long_atomic_fetch_add(mem->inbox, 1, peer);
}
static void call_fetch_add_self(void) {
  value = shmem_long_atomic_fetch_add(mem->inbox, 1, self);
}
static void call_fence(void) { shmem_fence(); }
static void call_quiet(void) { shmem_quiet(); }
static void call_put_quiet(void) { call_put(); shmem_quiet(); }
static void call_put_fence(void) { call_put(); shmem_fence(); }
static void call_test(void) {
  value = shmem_long_test(&mem->other_flag, SHMEM_CMP_EQ, 1);
}
static void call_test_lock(void) {
  if (shmem_test_lock(&mem->free_lock) == 0) shmem_clear_lock(&mem->free_lock);
}
static void call_wait_done(void) {
  shmem_long_wait_until(&mem->other_flag, SHMEM_CMP_EQ, 0);
}
static void call_wait(void) {
  shmem_long_wait_until(&mem->flag, SHMEM_CMP_EQ, 1);
  mem->flag = 0;
}
static void answer_wait(void) { shmem_long_p(&mem->flag, 1, 0); shmem_quiet(); }
static void call_set_lock(void) {
  shmem_set_lock(&mem->lock);
  shmem_clear_lock(&mem->lock);
}
static void answer_set_lock(void) { shmem_clear_lock(&mem->lock); }
static void call_barrier_all(void) { shmem_barrier_all(); }
static void call_sync_all(void) { shmem_sync_all(); }
static void call_barrier(void) { shmem_barrier(0, 0, 2, sync_words); }
static void call_sync(void) { shmem_sync(0, 0, 2, sync_words); }
static void call_broadcast(void) {
  shmem_broadcast64(mem->gathered, mem->source, 8, 1, 0, 0, 2, sync_words);
}
static void call_fcollect(void) {
  shmem_fcollect64(mem->gathered, mem->source, 8, 0, 0, 2, sync_words);
}
static void call_alltoall(void) {
  shmem_alltoall64(mem->gathered, mem->source, 4, 0, 0, 2, sync_words);
}
static void call_reduce(void) {
  shmem_long_sum_to_all(mem->reduced, mem->source, 8, 0, 0, 2, mem->reduce_work,
                        reduce_sync);
}
static void call_malloc(void) { shmem_free(shmem_malloc(64)); }

static const struct probe probes[] = {
    {"none", REPEATED, nothing, nothing},
    {"shmem_my_pe", REPEATED, call_my_pe, nothing},
    {"shmem_ptr", REPEATED, call_ptr, nothing},
    {"shmem_p", REPEATED, call_p, nothing},
    {"shmem_put", REPEATED, call_put, nothing},
    {"shmem_put self", REPEATED, call_put_self, nothing},
    {"shmem_iput", REPEATED, call_iput, nothing},
    {"shmem_put_nbi", REPEATED, call_put_nbi, nothing},
    {"shmem_g", REPEATED, call_g, nothing},
    {"shmem_get", REPEATED, call_get, nothing},
    {"shmem_get self", REPEATED, call_get_self, nothing},
    {"shmem_iget", REPEATED, call_iget, nothing},
    {"shmem_get_nbi", REPEATED, call_get_nbi, nothing},
    {"shmem_atomic_add", REPEATED, call_add, nothing},
    {"shmem_atomic_fetch_add", REPEATED, call_fetch_add, nothing},
    {"shmem_atomic_fetch_add self", REPEATED, call_fetch_add_self, nothing},
    {"shmem_fence", REPEATED, call_fence, nothing},
    {"shmem_put shmem_fence", REPEATED, call_put_fence, nothing},
    {"shmem_quiet", REPEATED, call_quiet, nothing},
    {"shmem_put shmem_quiet", REPEATED, call_put_quiet, nothing},
    {"shmem_test", REPEATED, call_test, nothing},
    {"shmem_wait_until satisfied", REPEATED, call_wait_done, nothing},
    {"shmem_test_lock shmem_clear_lock", REPEATED, call_test_lock, nothing},
    {"shmem_wait_until", PAIR, call_wait, answer_wait},
    {"shmem_set_lock", PAIR, call_set_lock, answer_set_lock},
    {"shmem_barrier", PAIR, call_barrier, call_barrier},
    {"shmem_sync", PAIR, call_sync, call_sync},
    {"shmem_broadcast64", PAIR, call_broadcast, call_broadcast},
    {"shmem_fcollect64", PAIR, call_fcollect, call_fcollect},
    {"shmem_alltoall64", PAIR, call_alltoall, call_alltoall},
    {"shmem_sum_to_all", PAIR, call_reduce, call_reduce},
    {"shmem_barrier_all", EVERYONE, call_barrier_all, call_barrier_all},
    {"shmem_sync_all", EVERYONE, call_sync_all, call_sync_all},
    {"shmem_malloc shmem_free", EVERYONE, call_malloc, call_malloc},
};
#define PROBES (int)(sizeof probes / sizeof *probes)

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void compute_until(double end) {
  while (now_ms() < end) continue;
}

/* PE 0: calls once or every millisecond, and computes the rest of the time. */
static void be_busy(const struct probe *probe) {
  double start = now_ms(), end = start + BUSY_MS;
  probe->call();
  if (probe->kind == REPEATED) {
    for (double next = start + PERIOD_MS; next < end; next += PERIOD_MS) {
      compute_until(next);
      probe->call();
    }
  }
  compute_until(end);
}

/* PE 1: the get that wants to be served. */
static void get_and_answer(const struct probe *probe) {
  long got = 0;
  compute_until(now_ms() + DELAY_MS);
  double start = now_ms();
  shmem_long_get(&got, &mem->target, 1, 0);
  latency_ms = now_ms() - start;
  if (got != VALUE) {
    fprintf(stderr, "progress-probe: wrong value %ld\n", got);
    shmem_global_exit(1);
  }
  probe->answer();
}

/* Returns the latency, at PE 0. */
static double measure(const struct probe *probe) {
  running = probe->name;
  alarm(STUCK_S);
  if (me == 1 && probe->call == call_set_lock) shmem_set_lock(&mem->lock);
  shmem_barrier_all();
  if (me == 0) be_busy(probe);
  else if (me == 1) get_and_answer(probe);
  else if (probe->kind == EVERYONE) probe->answer();
  shmem_barrier_all();
  double result = me == 0 ? shmem_double_g(&latency_ms, 1) : 0;
  shmem_barrier_all();
  return result;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const struct probe *probe, int rounds) {
  double all[MAX_ROUNDS];
  for (int r = 0; r < rounds; r++) all[r] = measure(probe);
  qsort(all, (size_t)rounds, sizeof *all, by_size);
  return all[rounds / 2];
}

static void stuck(int signal) {
  (void)signal;
  static const char text[] = "progress-probe: stuck in ";
  const char *name = (const char *)running;
  if (write(2, text, sizeof text - 1) < 0 || write(2, name, strlen(name)) < 0 ||
      write(2, "\n", 1) < 0)
    _exit(4);
  _exit(3);
}

static const char *answer_text(double latency, int hardware) {
  if (hardware) return "hardware";
  return latency < SERVED_MS ? "yes" : "no";
}

static void print_json(const double *latency, int hardware) {
  char name[SHMEM_MAX_NAME_LEN];
  int major, minor;
  const char *tls = getenv("UCX_TLS");
  shmem_info_get_name(name);
  shmem_info_get_version(&major, &minor);
  printf("{\n  \"runtime\": \"%s\",\n  \"version\": \"%d.%d\",\n", name, major, minor);
  printf("  \"ucx_tls\": \"%s\",\n", tls ? tls : "");
  printf("  \"progress\": \"%s\",\n  \"calls\": [\n", hardware ? "hardware" : "software");
  for (int i = 0; i < PROBES; i++)
    printf("    {\"call\": \"%s\", \"served\": \"%s\", \"latency_ms\": %.3f}%s\n",
           probes[i].name, answer_text(latency[i], hardware), latency[i],
           i + 1 < PROBES ? "," : "");
  printf("  ]\n}\n");
}

static void print_table(const double *latency, int hardware) {
  printf("progress: %s\n\n", hardware ? "hardware" : "software");
  printf("%-34s %-9s %10s\n", "call", "served", "ms");
  for (int i = 0; i < PROBES; i++)
    printf("%-34s %-9s %10.3f\n", probes[i].name,
           answer_text(latency[i], hardware), latency[i]);
}

static void usage(const char *program) {
  fprintf(stderr, "usage: %s [--json] [--static] [--rounds R]\n", program);
  exit(2);
}

int main(int argc, char **argv) {
  int json = 0, use_static = 0, rounds = 3;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) json = 1;
    else if (strcmp(argv[i], "--static") == 0) use_static = 1;
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      rounds = atoi(argv[++i]);
    else usage(argv[0]);
  }
  if (rounds < 1 || rounds > MAX_ROUNDS) usage(argv[0]);

  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  if (npes < 2) {
    fprintf(stderr, "progress-probe: needs at least 2 PEs\n");
    shmem_global_exit(2);
  }
  self = me;
  peer = me == 0 ? 1 : 0;
  for (int i = 0; i < SHMEM_SYNC_SIZE; i++) sync_words[i] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
    reduce_sync[i] = SHMEM_SYNC_VALUE;
  if (!use_static) mem = shmem_calloc(1, sizeof *mem);
  mem->target = VALUE;
  signal(SIGALRM, stuck);
  shmem_barrier_all();
  if (me == 1) shmem_long_get(&value, &mem->target, 1, 0); /* connects them */

  double latency[PROBES];
  for (int i = 0; i < PROBES; i++) latency[i] = median(&probes[i], rounds);
  alarm(0);
  if (me == 0) {
    int hardware = latency[0] < SERVED_MS;
    if (json) print_json(latency, hardware);
    else print_table(latency, hardware);
    fflush(stdout);
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
