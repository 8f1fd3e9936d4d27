/* One timer on an absolute deadline of the monotonic clock, in nanoseconds: Linux's timerfd, else
 * libuv's own timer (whole milliseconds, rounded up). Calls back on the loop's thread.
 */
#ifndef LOOP_TIMER_H
#define LOOP_TIMER_H

#include <stdint.h>

struct uv_loop_s;
struct loop_timer;

/* `due` is called once after each deadline; it may arm again. NULL: *error is libuv's code. */
struct loop_timer *loop_timer_create(struct uv_loop_s *loop, void (*due)(void *owner), void *owner,
                                     int *error);
/* Replaces the deadline before, if there was one. */
void loop_timer_arm(struct loop_timer *timer, uint64_t deadline_ns);
/* Its memory goes when the loop runs the next time. */
void loop_timer_destroy(struct loop_timer *timer);

#endif
