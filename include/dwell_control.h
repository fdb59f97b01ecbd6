/* Pausing and resuming what Dwell records.
 *
 * Nothing has to be linked: the functions are looked for when they are first called, and if the program
 * does not run under `dwell run` they do nothing. glibc before 2.34 needs -ldl.
 *
 *     dwell_control_pause();
 *     warm_up();
 *     dwell_control_resume();
 */
#ifndef DWELL_CONTROL_H
#define DWELL_CONTROL_H

#include <dlfcn.h>

static inline void dwell_control_call_(const char *name)
{
    /* A null handle is RTLD_DEFAULT, which some headers hide. */
    void (*function)(void);
    *(void **) &function = dlsym((void *) 0, name);
    if (function) {
        function();
    }
}

/* Stops recording in this process, until it is resumed. */
static inline void dwell_control_pause(void)
{
    dwell_control_call_("dwell_pause");
}

/* Goes on recording. */
static inline void dwell_control_resume(void)
{
    dwell_control_call_("dwell_resume");
}

#endif
