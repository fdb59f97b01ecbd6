/* Two calls in one function, and a function that is inlined in two places. */
extern void probe(const char *label);

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

static inline __attribute__((always_inline)) void swap(const char *label) {
    sink++;
    probe(label); /* @swap */
    sink++;
}

NOINLINE void advance(void) {
    probe("first"); /* @first */
    sink++;
    probe("second"); /* @second */
    swap("inlined in advance"); /* @advance */
}

NOINLINE void finish(void) {
    sink++;
    swap("inlined in finish"); /* @finish */
}

void run(void) {
    advance();
    finish();
}
