// C11 threads on top of pthreads, for preset tsan only. librdkafka uses <threads.h>. The thread sanitizer does not
// intercept glibc's functions for it, and crashes in such a thread. glibc's types are pthreads' types under other
// names.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "once_flag");

/// librdkafka is built without the sanitizer, so the atomic counts that order these two frees are invisible.
const char* __tsan_default_suppressions(void);
const char* __tsan_default_suppressions(void) { return "race:rd_kafka_topic_destroy_final\nrace:rwlock_destroy\n"; }

static int status_of(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
  }
}

struct start {
  thrd_start_t function;
  void* argument;
};

static void* run(void* pointer) {
  const struct start start = *(struct start*)pointer;
  free(pointer);
  return (void*)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  struct start* start = malloc(sizeof *start);
  if (start == NULL) return thrd_nomem;
  *start = (struct start){function, argument};
  const int error = pthread_create(thread, NULL, run, start);
  if (error != 0) free(start);
  return status_of(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = NULL;
  const int error = pthread_join(thread, &value);
  if (result != NULL) *result = (int)(intptr_t)value;
  return status_of(error);
}

int thrd_detach(thrd_t thread) { return status_of(pthread_detach(thread)); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, (type & mtx_recursive) ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = pthread_mutex_init((pthread_mutex_t*)mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return status_of(error);
}

void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy((pthread_mutex_t*)mutex); }
int mtx_lock(mtx_t* mutex) { return status_of(pthread_mutex_lock((pthread_mutex_t*)mutex)); }
int mtx_trylock(mtx_t* mutex) { return status_of(pthread_mutex_trylock((pthread_mutex_t*)mutex)); }
int mtx_unlock(mtx_t* mutex) { return status_of(pthread_mutex_unlock((pthread_mutex_t*)mutex)); }

int cnd_init(cnd_t* condition) { return status_of(pthread_cond_init((pthread_cond_t*)condition, NULL)); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy((pthread_cond_t*)condition); }
int cnd_signal(cnd_t* condition) { return status_of(pthread_cond_signal((pthread_cond_t*)condition)); }
int cnd_broadcast(cnd_t* condition) { return status_of(pthread_cond_broadcast((pthread_cond_t*)condition)); }

int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return status_of(pthread_cond_wait((pthread_cond_t*)condition, (pthread_mutex_t*)mutex));
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const struct timespec* until) {
  return status_of(pthread_cond_timedwait((pthread_cond_t*)condition, (pthread_mutex_t*)mutex, until));
}

void call_once(once_flag* flag, void (*function)(void)) { pthread_once((pthread_once_t*)flag, function); }
