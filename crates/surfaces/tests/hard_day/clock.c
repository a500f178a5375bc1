// A clock on the wall that can be set from outside: the seconds that it is wrong by stand in a file that all programs of
// the day have mapped. Whoever has no such file, or cannot see it, has the right time.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *wrong_by;

__attribute__((constructor)) static void look(void) {
    const char *path = getenv("HARD_DAY_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *there = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (there != MAP_FAILED)
        wrong_by = there;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && wrong_by && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *wrong_by;
    return (int)failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exactly;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exactly))
        return -1;
    now->tv_sec = exactly.tv_sec;
    now->tv_usec = exactly.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *there) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now))
        return -1;
    if (there)
        *there = now.tv_sec;
    return now.tv_sec;
}
