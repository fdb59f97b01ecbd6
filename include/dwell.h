/* What a program may tell Dwell: name a part of your code, and it is in the trace and in the call tree; leave out
 * a part that does not matter; say which iteration this is, what the program works on, and how it gets on.
 *
 *   DWELL_PAUSE();
 *   warm_up();
 *   DWELL_RESUME();
 *   for (long step = 0; step < steps; step++) {
 *       DWELL_PHASE_BEGIN("step", step);
 *       DWELL_BEGIN("assemble");
 *       ...
 *       DWELL_END("assemble");
 *       DWELL_PARAMETER_INT("level", level);
 *       DWELL_COUNTER("residual", "", residual);
 *       DWELL_PHASE_END("step");
 *   }
 *
 * Nothing is linked. Where the program does not run under `dwell run`, each of these is one comparison; with
 * -DDWELL_OFF it is nothing at all, and arguments are not evaluated. Names are kept when they are first seen, up to
 * 200 bytes. Regions are to be nested: what is still open inside a region ends with it.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DWELL_H
#define DWELL_H

#ifdef DWELL_OFF

#define DWELL_BEGIN(name) ((void)0)
#define DWELL_END(name) ((void)0)
#define DWELL_PHASE_BEGIN(name, number) ((void)0)
#define DWELL_PHASE_END(name) ((void)0)
#define DWELL_PARAMETER_INT(name, value) ((void)0)
#define DWELL_PARAMETER_UNSIGNED(name, value) ((void)0)
#define DWELL_PARAMETER_TEXT(name, value) ((void)0)
#define DWELL_COUNTER(name, unit, value) ((void)0)
#define DWELL_COUNTER_INT(name, unit, value) ((void)0)
#define DWELL_PAUSE() ((void)0)
#define DWELL_RESUME() ((void)0)
#define DWELL_TOPOLOGY(name, dimensions, sizes, periodic, coordinates) ((void)0)

#ifdef __cplusplus
namespace dwell {
struct Region {
    explicit Region(const char *) {}
};
struct Phase {
    Phase(const char *, long long) {}
};
} // namespace dwell
#endif

#else

#ifdef __cplusplus
extern "C" {
#endif
/* In what `dwell run` loads; null elsewhere. */
__attribute__((weak)) void dwell_region_begin(const char *name);
__attribute__((weak)) void dwell_region_end(const char *name);
__attribute__((weak)) void dwell_phase_begin(const char *name, long long number);
__attribute__((weak)) void dwell_phase_end(const char *name);
__attribute__((weak)) void dwell_parameter_int(const char *name, long long value);
__attribute__((weak)) void dwell_parameter_unsigned(const char *name, unsigned long long value);
__attribute__((weak)) void dwell_parameter_text(const char *name, const char *value);
__attribute__((weak)) void dwell_counter_real(const char *name, const char *unit, double value);
__attribute__((weak)) void dwell_counter_int(const char *name, const char *unit, long long value);
__attribute__((weak)) void dwell_pause(void);
__attribute__((weak)) void dwell_resume(void);
__attribute__((weak)) void dwell_topology(const char *name, int dimensions, const int *sizes, const int *periodic,
                                          const int *coordinates);
#ifdef __cplusplus
}

namespace dwell {
/* A region as long as a scope: `dwell::Region region("assemble");` */
class Region {
  public:
    explicit Region(const char *name) : name_(name)
    {
        if (dwell_region_begin)
            dwell_region_begin(name);
    }
    ~Region()
    {
        if (dwell_region_end)
            dwell_region_end(name_);
    }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;

  private:
    const char *name_;
};

/* A phase as long as a scope: `dwell::Phase phase("step", step);` */
class Phase {
  public:
    Phase(const char *name, long long number) : name_(name)
    {
        if (dwell_phase_begin)
            dwell_phase_begin(name, number);
    }
    ~Phase()
    {
        if (dwell_phase_end)
            dwell_phase_end(name_);
    }
    Phase(const Phase &) = delete;
    Phase &operator=(const Phase &) = delete;

  private:
    const char *name_;
};
} // namespace dwell
#endif

/* A region, which is in the call tree once, however often it is entered. */
#define DWELL_BEGIN(name) ((void)(dwell_region_begin ? (dwell_region_begin(name), 0) : 0))
#define DWELL_END(name) ((void)(dwell_region_end ? (dwell_region_end(name), 0) : 0))

/* A phase: a region that is in the call tree once for each number, which is the same at all processes. */
#define DWELL_PHASE_BEGIN(name, number) \
    ((void)(dwell_phase_begin ? (dwell_phase_begin(name, number), 0) : 0))
#define DWELL_PHASE_END(name) ((void)(dwell_phase_end ? (dwell_phase_end(name), 0) : 0))

/* A parameter has a value until the region ends that this stands in, or until it is set again there. What is called
 * meanwhile is in the call tree apart, for each value. */
#define DWELL_PARAMETER_INT(name, value) \
    ((void)(dwell_parameter_int ? (dwell_parameter_int(name, value), 0) : 0))
#define DWELL_PARAMETER_UNSIGNED(name, value) \
    ((void)(dwell_parameter_unsigned ? (dwell_parameter_unsigned(name, value), 0) : 0))
#define DWELL_PARAMETER_TEXT(name, value) \
    ((void)(dwell_parameter_text ? (dwell_parameter_text(name, value), 0) : 0))

/* What a counter is at this moment. The unit may be "". */
#define DWELL_COUNTER(name, unit, value) \
    ((void)(dwell_counter_real ? (dwell_counter_real(name, unit, value), 0) : 0))
#define DWELL_COUNTER_INT(name, unit, value) \
    ((void)(dwell_counter_int ? (dwell_counter_int(name, unit, value), 0) : 0))

/* How processes are arranged: a grid of so many dimensions, their sizes, whether each is periodic (0 or 1), and the
 * coordinates of this process, counted from 0. All processes say it after the start of their runtime. Grids of
 * `MPI_Cart_create` are recorded as they are. */
#define DWELL_TOPOLOGY(name, dimensions, sizes, periodic, coordinates) \
    ((void)(dwell_topology ? (dwell_topology(name, dimensions, sizes, periodic, coordinates), 0) : 0))

/* Stops recording in this process until it is resumed. */
#define DWELL_PAUSE() ((void)(dwell_pause ? (dwell_pause(), 0) : 0))
#define DWELL_RESUME() ((void)(dwell_resume ? (dwell_resume(), 0) : 0))

#endif
#endif
