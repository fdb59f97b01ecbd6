/* Calls that are inlined, plain, and last. A marker names the line of a frame. */
extern void probe(const char *label);
extern void probe_and_exit(const char *label) __attribute__((noreturn));

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

INLINE void inner(void) {
    sink++;
    probe("inlined"); /* @inner */
    sink++;
}

INLINE void middle(void) {
    sink++;
    inner(); /* @middle */
    sink++;
}

NOINLINE void outer(void) {
    sink++;
    middle(); /* @outer */
    sink++;
}

NOINLINE static void hidden(void) {
    sink++;
    probe("hidden"); /* @hidden */
    sink++;
}

/* The call is the last instruction: the return address belongs to whatever comes next. */
NOINLINE void last(void) {
    sink++;
    probe_and_exit("last"); /* @last */
}

NOINLINE void following(void) {
    sink--;
}

void run(void) {
    outer();
    hidden();
    sink++;
    if (sink > 0) last();
    following();
}
