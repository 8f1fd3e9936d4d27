#define _GNU_SOURCE
#include "server/loop/timer.h"

#include "server/loop/clock.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <uv.h>

#ifdef __linux__
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>
#endif

struct loop_timer {
    void (*due)(void *owner);
    void *owner;
#ifdef __linux__
    int fd;
    uv_poll_t handle;
#else
    uv_timer_t handle;
#endif
};

static void release(uv_handle_t *handle)
{
    struct loop_timer *timer = handle->data;
#ifdef __linux__
    close(timer->fd);
#endif
    arb_mem_free(timer);
}

void loop_timer_destroy(struct loop_timer *timer)
{
    uv_close((uv_handle_t *)&timer->handle, release);
}

#ifdef __linux__

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct loop_timer *timer = poll->data;
    uint64_t expirations;
    (void)status;
    (void)events;
    /* Nothing to read: it was armed anew since it became readable. */
    if (read(timer->fd, &expirations, sizeof expirations) != sizeof expirations) return;
    timer->due(timer->owner);
}

static int open_handle(struct loop_timer *timer, uv_loop_t *loop)
{
    timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer->fd < 0) return -errno;
    int error = uv_poll_init(loop, &timer->handle, timer->fd);
    if (error != 0) close(timer->fd);
    return error != 0 ? error : uv_poll_start(&timer->handle, UV_READABLE, on_poll);
}

void loop_timer_arm(struct loop_timer *timer, uint64_t deadline_ns)
{
    const uint64_t second_ns = 1000000000U;
    uint64_t at = deadline_ns > 0 ? deadline_ns : 1; /* all zero would disarm */
    struct itimerspec spec = {
        .it_value = {.tv_sec = (time_t)(at / second_ns), .tv_nsec = (long)(at % second_ns)}};
    int failed = timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL);
    ARB_ASSERT(failed == 0);
}

#else

static void on_timer(uv_timer_t *handle)
{
    struct loop_timer *timer = handle->data;
    timer->due(timer->owner);
}

static int open_handle(struct loop_timer *timer, uv_loop_t *loop)
{
    return uv_timer_init(loop, &timer->handle);
}

void loop_timer_arm(struct loop_timer *timer, uint64_t deadline_ns)
{
    uint64_t now = loop_now_ns();
    uint64_t wait_ns = deadline_ns > now ? deadline_ns - now : 0;
    uv_update_time(timer->handle.loop);
    uv_timer_start(&timer->handle, on_timer, (wait_ns + 999999U) / 1000000U, 0);
}

#endif

struct loop_timer *loop_timer_create(struct uv_loop_s *loop, void (*due)(void *owner), void *owner,
                                     int *error)
{
    struct loop_timer *timer = arb_mem_alloc(sizeof *timer);
    timer->due = due;
    timer->owner = owner;
    *error = open_handle(timer, loop);
    if (*error != 0) {
        arb_mem_free(timer);
        return NULL;
    }
    timer->handle.data = timer;
    return timer;
}
