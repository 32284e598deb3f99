/* Appends a line for each event to a file: event id, type, topic/partition/offset, payload, with tabs between them.
 * Settings: `file` (its path), `sync` (true: a line is on the disk before its event is done; default false).
 *
 * An event can come twice (a crash between the line and its "done"), with the same first column. To drop duplicates:
 * awk -F'\t' '!seen[$1]++'.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <inboxd/handler.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DISK_FULL_DELAY_MS 30000

/* One for each configured handler. */
typedef struct audit_trail {
  pthread_mutex_t lock; /* `handle` runs on several threads at once; one call at a time writes */
  int file;
  bool sync;
  bool torn; /* the last line is incomplete; under the lock */
} audit_trail;

/* ---- A line ---- */

typedef struct line {
  char* text;
  size_t size;
} line;

static void put(line* out, const char* text, size_t size) {
  memcpy(out->text + out->size, text, size);
  out->size += size;
}

/* Writes control characters, DEL and the backslash as \xHH: at most four bytes for each byte. */
static void put_escaped(line* out, inboxd_bytes bytes) {
  static const char digits[] = "0123456789abcdef";
  size_t i;
  for (i = 0; i < bytes.size; ++i) {
    const unsigned char byte = (unsigned char)bytes.data[i];
    if (byte < 0x20 || byte == 0x7f || byte == '\\') {
      const char escape[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      put(out, escape, sizeof escape);
    } else {
      put(out, bytes.data + i, 1);
    }
  }
}

/* The line of an event; the caller frees its text, which is NULL if memory is short. */
static line line_of(const inboxd_event* event) {
  char id[INBOXD_ID_TEXT_SIZE];
  char place[64];
  const int place_size = snprintf(place, sizeof place, "/%ld/%lld\t", (long)event->partition, (long long)event->offset);
  const size_t escaped = 4 * (event->event_type.size + event->topic.size + event->payload.size);
  line out = {malloc(escaped + sizeof id + sizeof place + 8), 0};
  if (out.text == NULL) return out;
  inboxd_format_id(event->event_id, id);
  put(&out, id, strlen(id));
  put(&out, "\t", 1);
  put_escaped(&out, event->event_type);
  put(&out, "\t", 1);
  put_escaped(&out, event->topic);
  put(&out, place, (size_t)place_size);
  if (event->payload.data == NULL) {
    put(&out, "\\N", 2); /* a tombstone, which is not the same as an empty payload */
  } else {
    put_escaped(&out, event->payload);
  }
  put(&out, "\n", 1);
  return out;
}

/* ---- The file ---- */

/* Returns false, with errno, if not everything was written. */
static bool write_all(audit_trail* self, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t written = write(self->file, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    self->torn = (size_t)written < size;
    text += written;
    size -= (size_t)written;
  }
  return true;
}

static bool append(audit_trail* self, const line* what) {
  /* The disk filled up in the middle of a line: end that line first. */
  if (self->torn && !write_all(self, "\n", 1)) return false;
  return write_all(self, what->text, what->size);
}

static void retry(inboxd_call* call, size_t index, const char* what, int error) {
  char message[256];
  snprintf(message, sizeof message, "cannot %s the audit trail: %s", what, strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    inboxd_retry(call, index, DISK_FULL_DELAY_MS, "disk.full", message);
  } else {
    inboxd_retry(call, index, INBOXD_POLICY_DELAY, "audit.io", message);
  }
}

/* ---- The plugin ---- */

static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) {
  static const char* const known[] = {"file", "sync", NULL};
  const char* const unknown = inboxd_unknown_setting(config, known);
  const char* const path = inboxd_setting_text(config, "file", NULL);
  const char* const sync = inboxd_setting_text(config, "sync", "false");
  audit_trail* self;
  (void)host;
  if (unknown != NULL) {
    snprintf(error, error_size, "unknown setting '%s'; this plugin knows: file, sync", unknown);
    return NULL;
  }
  if (path == NULL) {
    snprintf(error, error_size, "setting 'file' is missing; it must be the path of the file to append to");
    return NULL;
  }
  if (strcmp(sync, "true") != 0 && strcmp(sync, "false") != 0) {
    snprintf(error, error_size, "setting 'sync' is '%s'; it must be true or false", sync);
    return NULL;
  }
  self = calloc(1, sizeof *self);
  if (self == NULL) {
    snprintf(error, error_size, "there is no memory left");
    return NULL;
  }
  self->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (self->file < 0) {
    snprintf(error, error_size, "setting 'file': cannot open %s: %s; it must be a file that the daemon may write",
             path, strerror(errno));
    free(self);
    return NULL;
  }
  self->sync = strcmp(sync, "true") == 0;
  pthread_mutex_init(&self->lock, NULL);
  return self;
}

static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
  audit_trail* const self = instance;
  size_t i;
  pthread_mutex_lock(&self->lock);
  for (i = 0; i < count && !call->is_cancelled(call); ++i) {
    line what = line_of(events[i]);
    if (what.text == NULL) {
      retry(call, i, "append to", ENOMEM);
    } else if (!append(self, &what)) {
      retry(call, i, "append to", errno);
    } else if (!self->sync) {
      inboxd_done(call, i);
    }
    free(what.text);
  }
  /* One sync for the whole call. In a cancelled call the remaining events get no verdict. */
  if (self->sync && i == count) {
    if (fdatasync(self->file) == 0) {
      inboxd_done(call, INBOXD_THE_REST);
    } else {
      retry(call, INBOXD_THE_REST, "sync", errno);
    }
  }
  pthread_mutex_unlock(&self->lock);
}

static void destroy(void* instance) {
  audit_trail* const self = instance;
  close(self->file);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const inboxd_plugin plugin = {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "audit-trail", "1.0",
                                       NULL,                  create,           handle,           destroy};
  (void)host;
  return &plugin;
}
