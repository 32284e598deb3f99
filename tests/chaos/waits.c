// Preloaded with libfaketime, which shifts the C11 clock but not the C11 waits that end by it: librdkafka's waits would
// last as long as the clock is ahead.
#include <errno.h>
#include <pthread.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t");

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const struct timespec* until) {
  const int error = pthread_cond_timedwait((pthread_cond_t*)condition, (pthread_mutex_t*)mutex, until);
  return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}
