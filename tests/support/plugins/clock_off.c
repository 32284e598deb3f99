/* Preloaded into a server or a daemon: shifts its wall clock by INBOXD_TEST_CLOCK_OFF seconds, or by those in the file
 * INBOXD_TEST_CLOCK_FILE, which may change, and no other clock. The kernel does not know: times at which a wait ends
 * are shifted back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static long in_file(const char* path) {
  char digits[32] = {0};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    const ssize_t size = read(file, digits, sizeof digits - 1);
    (void)size;
    close(file);
  }
  return strtol(digits, NULL, 10);
}

static long off_by(void) {
  const char* const path = getenv("INBOXD_TEST_CLOCK_FILE");
  if (path != NULL) return in_file(path);
  const char* const text = getenv("INBOXD_TEST_CLOCK_OFF");
  return text == NULL ? 0 : strtol(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int status = (int)syscall(SYS_clock_gettime, clock, out);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += off_by();
  return status;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

int cnd_timedwait(cnd_t* restrict condition, mtx_t* restrict mutex, const struct timespec* restrict until) {
  int (*wait)(cnd_t*, mtx_t*, const struct timespec*);
  const struct timespec real = {until->tv_sec - off_by(), until->tv_nsec};
  *(void**)&wait = dlsym(RTLD_NEXT, "cnd_timedwait");
  return wait(condition, mutex, &real);
}
