/* A file system without flock, for one process: LD_PRELOAD this; FLOCK_ERRNO is what flock fails with. */
#include <errno.h>
#include <stdlib.h>

int flock(int fd, int operation) {
    (void)fd;
    (void)operation;
    errno = atoi(getenv("FLOCK_ERRNO"));
    return -1;
}
