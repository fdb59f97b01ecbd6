/* What a program may tell Dwell: name a part of your code, and it is in the trace and in the call tree; leave out
 * a part that does not matter.
 *
 *   DWELL_PAUSE();
 *   warm_up();
 *   DWELL_RESUME();
 *   DWELL_BEGIN("assemble");
 *   ...
 *   DWELL_END("assemble");
 *
 * Nothing is linked. Where the program does not run under `dwell run`, each of these is one comparison; with
 * -DDWELL_OFF it is nothing at all. Names are kept when they are first seen, up to 200 bytes. Regions are
 * to be nested: what is still open inside a region ends with it. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DWELL_H
#define DWELL_H

#ifdef DWELL_OFF

#define DWELL_BEGIN(name) ((void)0)
#define DWELL_END(name) ((void)0)
#define DWELL_PAUSE() ((void)0)
#define DWELL_RESUME() ((void)0)

#else

#ifdef __cplusplus
extern "C" {
#endif
/* In what `dwell run` loads; null elsewhere. */
__attribute__((weak)) void dwell_region_begin(const char *name);
__attribute__((weak)) void dwell_region_end(const char *name);
__attribute__((weak)) void dwell_pause(void);
__attribute__((weak)) void dwell_resume(void);
#ifdef __cplusplus
}

/* A region as long as a scope: `dwell::Region region("assemble");` */
namespace dwell {
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
} // namespace dwell
#endif

#define DWELL_BEGIN(name) ((void)(dwell_region_begin ? (dwell_region_begin(name), 0) : 0))
#define DWELL_END(name) ((void)(dwell_region_end ? (dwell_region_end(name), 0) : 0))
/* Stops recording in this process until it is resumed. */
#define DWELL_PAUSE() ((void)(dwell_pause ? (dwell_pause(), 0) : 0))
#define DWELL_RESUME() ((void)(dwell_resume ? (dwell_resume(), 0) : 0))

#endif
#endif
