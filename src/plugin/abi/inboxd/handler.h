/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between inboxd and a plugin: a shared object that inboxd calls with events from the inbox. Plain C99,
 * for any language that exports C functions. <inboxd/handler.hpp> wraps it for C++. A complete plugin:
 *
 *     #include <inboxd/handler.h>
 *
 *     static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) {
 *       static int no_state;
 *       (void)host, (void)config, (void)error, (void)error_size;
 *       return &no_state;
 *     }
 *
 *     static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
 *       (void)instance;
 *       for (size_t i = 0; i < count; ++i) {
 *         if (events[i]->payload.data == NULL) inboxd_dead(call, i, "validation.payload", "no payload");
 *         else inboxd_done(call, i);
 *       }
 *     }
 *
 *     static void destroy(void* instance) { (void)instance; }
 *
 *     INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
 *       static const inboxd_plugin plugin = {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR,
 *                                            "example", "1.0", NULL, create, handle, destroy};
 *       (void)host;
 *       return &plugin;
 *     }
 *
 * Build it with CMake (`find_package(inboxd)`, `inboxd_add_handler(example example.c)`), inspect it with `inboxd plugin
 * check ./example.so`, and configure it: `plugin: ./example.so`.
 *
 * Delivery. An event is delivered until it is done, skipped or dead: again after a retry or a crash. So an effect
 * outside the database may happen twice; the event id, the same each time, is the idempotency key. A call has 1 to
 * `events_per_call` events, each with its own verdict. An event without one is retried with error class `no-verdict`.
 *
 * Threads. Each function below has a tag:
 *   [main]                one thread at a time; no other function of the instance runs meanwhile
 *   [worker, concurrent]  any worker thread of the daemon, up to `concurrency` at once on one instance: shared state
 *                         needs a lock
 *   [call]                during a call of `handle`, on its thread
 *   [any]                 any thread, including the plugin's own
 *
 * Memory. Each side frees only its own allocations. Pointers are borrowed for the time that their comment names. Text
 * is UTF-8, but an event's producer may have written any bytes.
 *
 * Versions. A daemon refuses plugins of another major version. Minor versions add fields at the tail of a struct, or
 * named extensions. So a plugin works in newer daemons, and in older ones if it checks new fields before use:
 * `INBOXD_HAS(host, field)`. If it cannot work without one, it logs that (host->log) and returns NULL from
 * `inboxd_plugin_entry`.
 *
 * Replacing a plugin. inboxd runs a private copy of the file in memory and never unloads code. SIGHUP loads a file
 * whose content has changed; running calls finish on the old code. If the new file is refused, so is the whole reload,
 * and the old code stays. Replace the file by renaming (`mv`, `install`): a reload must not read half of it. The copy
 * does not know its folder: libraries beside it need an absolute RUNPATH instead of $ORIGIN, and `dladdr` gives no
 * useful path.
 */
#ifndef INBOXD_HANDLER_H
#define INBOXD_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INBOXD_ABI_MAJOR 1
#define INBOXD_ABI_MINOR 0

/* Whether a struct that the other side made is new enough to have `field`. */
#define INBOXD_HAS(pointer, field) \
  ((pointer)->struct_size >= \
   (size_t)((const char*)&(pointer)->field - (const char*)(pointer)) + sizeof((pointer)->field))

#if defined(__GNUC__)
#define INBOXD_EXPORT __attribute__((visibility("default")))
#else
#define INBOXD_EXPORT
#endif

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

/* Borrowed bytes. `data` NULL is null, unlike empty (size 0): a tombstone is not an empty payload. A 0 byte follows
 * only where a comment promises it. This struct never changes. */
typedef struct inboxd_bytes {
  const char* data;
  size_t size;
} inboxd_bytes;

/* ---- Events ----------------------------------------------------------------------------------------------------- */

#define INBOXD_NO_TIME INT64_MIN

/* One event. The struct and its bytes are borrowed until `handle` returns. */
typedef struct inboxd_event {
  uint32_t struct_size;
  int32_t attempt;          /* failed attempts + 1 */
  uint8_t event_id[16];     /* a UUID in network order, the same on every attempt; see inboxd_format_id */
  inboxd_bytes source_id;   /* the producer's text of the id; null if that is the UUID itself */
  inboxd_bytes event_type;  /* never null */
  inboxd_bytes source;      /* the sender, like CloudEvents `source`; null if unknown */
  inboxd_bytes subject;     /* like CloudEvents `subject`; null if unknown */
  inboxd_bytes key;         /* the Kafka key; may be null */
  inboxd_bytes payload;     /* null is a tombstone */
  inboxd_bytes topic;       /* never null */
  int64_t offset;
  int32_t partition;
  uint32_t has_headers;     /* 0: none; otherwise see call->headers */
  int64_t occurred_at;      /* the producer's time, or INBOXD_NO_TIME. Times are microseconds since 1970-01-01 UTC */
  int64_t kafka_timestamp;  /* of the record, or INBOXD_NO_TIME (before 1970: header inboxd-kafka-timestamp) */
  int64_t received_at;      /* time of storing, by the database's clock; INBOXD_NO_TIME if unknown */
} inboxd_event;

/* One header. Names may repeat (by convention the last one counts); values may be null. This struct never changes. */
typedef struct inboxd_header {
  inboxd_bytes name;
  inboxd_bytes value;
} inboxd_header;

/* ---- Verdicts --------------------------------------------------------------------------------------------------- */

enum {
  INBOXD_DONE = 1,    /* the event is finished */
  INBOXD_RETRY = 2,   /* failed; try again after `delay_ms` or the configured backoff */
  INBOXD_DEAD = 3,    /* failed, no retry can help: dead-letter it at once */
  INBOXD_SKIPPED = 4, /* finished: the event is not for this handler */
  INBOXD_AWAY = 5,    /* not handled: a service that every event needs does not answer. No attempt is counted, and no
                         call of the handler begins in this instance for `delay_ms` (by default a second) */
  INBOXD_PAUSE = 6,   /* not handled: an operator must act. No attempt is counted; the handler is paused in all
                         instances, with the error class and message as the reason */
  INBOXD_DEFER = 7    /* not yet: try this event again after `delay_ms` (by default the first backoff). No attempt is
                         counted, so only `expire_after` ends it; later events of its key wait, others do not */
};

#define INBOXD_POLICY_DELAY (-1)                              /* the configured backoff */
#define INBOXD_MAX_DELAY_MS (INT64_C(366) * 24 * 3600 * 1000) /* a longer delay, or one below -1, is invalid */
#define INBOXD_ERROR_CLASS_LIMIT 64                           /* bytes; the rest is cut */
#define INBOXD_MESSAGE_LIMIT 4096                             /* bytes; the rest is cut */
#define INBOXD_THE_REST SIZE_MAX                              /* as index: all events without a verdict */

/* The verdict on one event. Its texts are copied before `call->verdict` returns. */
typedef struct inboxd_verdict {
  uint32_t struct_size;
  int32_t outcome;          /* INBOXD_DONE to INBOXD_DEFER */
  int64_t delay_ms;         /* INBOXD_RETRY, AWAY, DEFER: INBOXD_POLICY_DELAY, or 0 to INBOXD_MAX_DELAY_MS */
  inboxd_bytes error_class; /* short and dotted, for rules and dashboards: `timeout`, `validation.amount`. Letters,
                               digits and . _ - (others become _). May be null */
  inboxd_bytes message;     /* for people: the cause, without secrets. Its first line is logged; further lines
                               are only stored, and may quote the event. May be null */
} inboxd_verdict;

/* The daemon's own error classes, all retried:
 *   no-verdict   no verdict on the event
 *   cancelled    the same after the call was cancelled; handlers may use it, too. At shutdown no attempt is counted.
 *                Nor is one if a call of several events took too long: each is called again alone
 *   bad-verdict  unknown outcome, delay out of range, short struct
 *   exception    the handler threw */

/* ---- A call ----------------------------------------------------------------------------------------------------- */

typedef struct inboxd_call inboxd_call;

/* The daemon's side of one call of `handle`. Borrowed until `handle` returns. */
struct inboxd_call {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] Sets the verdict on the event at `index`, or on INBOXD_THE_REST. The last one counts; an index out of range
   * changes nothing. Short forms: inboxd_done, inboxd_skip, inboxd_retry, inboxd_dead, inboxd_away, inboxd_pause,
   * inboxd_defer. */
  void (*verdict)(inboxd_call* call, size_t index, const inboxd_verdict* verdict);

  /* [call] The headers of the event at `index`, in order, and their count; NULL and 0 if there are none. Borrowed until
   * `handle` returns. Unpacked on first use: unused headers cost nothing. */
  const inboxd_header* (*headers)(inboxd_call* call, size_t index, size_t* count);

  /* [any], during the call. True once the verdicts are useless: past the deadline, at shutdown, or after the lease. A
   * slow handler checks now and then, and returns without verdicts on the events that it did not reach. */
  bool (*is_cancelled)(const inboxd_call* call);

  /* [any], during the call. Milliseconds until the deadline, or 0: for the timeouts of the handler's own requests. */
  int64_t (*deadline_ms_left)(const inboxd_call* call);

  /* [call] The call's part of an extension (`inboxd.NAME/MAJOR`), see <inboxd/sql.h>, <inboxd/trace.h>. NULL if this
   * daemon lacks it, or if its header demands the name in `needs` and the table lacks that. Borrowed until `handle`
   * returns. */
  const void* (*extension)(inboxd_call* call, const char* name);
};

/* ---- The host --------------------------------------------------------------------------------------------------- */

enum { INBOXD_LOG_DEBUG = 0, INBOXD_LOG_INFO = 1, INBOXD_LOG_WARN = 2, INBOXD_LOG_ERROR = 3 };

#define INBOXD_LOG_LIMIT 4096 /* bytes of a line; the rest is cut */

typedef struct inboxd_host inboxd_host;

/* The daemon, as a plugin sees it. Borrowed until `inboxd_plugin_entry` returns; the host of `create` until `destroy`
 * returns. The first three fields never change. */
struct inboxd_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* version; /* of the daemon, for people */

  /* [any] Writes one line to the daemon's log, with the handler's name and control characters escaped. For operators:
   * no payloads, no secrets. */
  void (*log)(const inboxd_host* host, int32_t level, inboxd_bytes text);

  /* [main] The host's part of an extension, see <inboxd/sql.h>; NULL if this daemon lacks it. Lives like the host. */
  const void* (*extension)(const inboxd_host* host, const char* name);
};

/* ---- Settings --------------------------------------------------------------------------------------------------- */

/* One of the handler's `settings`. Scalars are text as written, lists and maps compact JSON. A 0 byte follows name and
 * value. This struct never changes. */
typedef struct inboxd_setting {
  inboxd_bytes name;
  inboxd_bytes value;
} inboxd_setting;

/* The configuration of one handler. Borrowed until `create` returns. */
typedef struct inboxd_config {
  uint32_t struct_size;
  uint32_t events_per_call;       /* the most events of a call, also in mode batch */
  inboxd_bytes handler;           /* the handler's name; a 0 byte follows */
  const inboxd_setting* settings; /* sorted by name, each name once */
  size_t setting_count;
} inboxd_config;

/* ---- The plugin ------------------------------------------------------------------------------------------------- */

/* The plugin's table, unchanged until the process ends. The first three fields never change. */
typedef struct inboxd_plugin {
  uint32_t struct_size; /* sizeof(inboxd_plugin) */
  uint16_t abi_major;   /* INBOXD_ABI_MAJOR */
  uint16_t abi_minor;   /* INBOXD_ABI_MINOR */
  const char* name;     /* short, for people: `receipt` */
  const char* version;  /* of the plugin, for people: `1.4.2` */

  /* Names of required extensions, ended by NULL; NULL: none. A daemon that lacks one refuses the plugin. */
  const char* const* needs;

  /* [main] Makes an instance for one configured handler; a plugin may have several. Returns any pointer but NULL,
   * without state the address of a static. To refuse the configuration, it writes mistake and remedy as a 0-terminated
   * sentence (snprintf(error, error_size, ...)) and returns NULL. Refuse unknown settings (inboxd_unknown_setting):
   * they may be misspelt. */
  void* (*create)(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size);

  /* [worker, concurrent] Handles `count` (at least 1) events and sets a verdict on each through `call`. May block, but
   * should return by the deadline; see is_cancelled. Must not throw. */
  void (*handle)(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count);

  /* [any] Destroys an instance, once, after its last call. Meanwhile other instances are made and called. A shutdown
   * waits for `shutdown.drain` at most. */
  void (*destroy)(void* instance);
} inboxd_plugin;

/* [main] The only function that a plugin exports (INBOXD_EXPORT). Returns the same table on every call. A plugin that
 * cannot work in this daemon logs the reason (host->log) and returns NULL. Acquires nothing. */
INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host);

/* ---- Helpers: no part of the contract, compiled into the plugin ------------------------------------------------- */

/* A 0-terminated text as bytes without the 0. NULL stays null. */
static inline inboxd_bytes inboxd_text(const char* text) {
  inboxd_bytes bytes;
  bytes.data = text;
  bytes.size = text == NULL ? 0 : strlen(text);
  return bytes;
}

/* Whether the bytes equal the text. Null equals no text. */
static inline bool inboxd_is(inboxd_bytes bytes, const char* text) {
  return bytes.data != NULL && bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static inline void inboxd_say(inboxd_call* call, size_t index, int32_t outcome, int64_t delay_ms,
                              inboxd_bytes error_class, inboxd_bytes message) {
  inboxd_verdict verdict;
  verdict.struct_size = sizeof verdict;
  verdict.outcome = outcome;
  verdict.delay_ms = delay_ms;
  verdict.error_class = error_class;
  verdict.message = message;
  call->verdict(call, index, &verdict);
}

static inline void inboxd_done(inboxd_call* call, size_t index) {
  inboxd_say(call, index, INBOXD_DONE, INBOXD_POLICY_DELAY, inboxd_text(NULL), inboxd_text(NULL));
}

static inline void inboxd_skip(inboxd_call* call, size_t index) {
  inboxd_say(call, index, INBOXD_SKIPPED, INBOXD_POLICY_DELAY, inboxd_text(NULL), inboxd_text(NULL));
}

/* delay_ms: INBOXD_POLICY_DELAY, unless the handler knows better (Retry-After). */
static inline void inboxd_retry(inboxd_call* call, size_t index, int64_t delay_ms, const char* error_class,
                                const char* message) {
  inboxd_say(call, index, INBOXD_RETRY, delay_ms, inboxd_text(error_class), inboxd_text(message));
}

static inline void inboxd_dead(inboxd_call* call, size_t index, const char* error_class, const char* message) {
  inboxd_say(call, index, INBOXD_DEAD, INBOXD_POLICY_DELAY, inboxd_text(error_class), inboxd_text(message));
}

/* delay_ms: how long no call begins; INBOXD_POLICY_DELAY is a second. */
static inline void inboxd_away(inboxd_call* call, size_t index, int64_t delay_ms, const char* error_class,
                               const char* message) {
  inboxd_say(call, index, INBOXD_AWAY, delay_ms, inboxd_text(error_class), inboxd_text(message));
}

static inline void inboxd_pause(inboxd_call* call, size_t index, const char* error_class, const char* message) {
  inboxd_say(call, index, INBOXD_PAUSE, INBOXD_POLICY_DELAY, inboxd_text(error_class), inboxd_text(message));
}

static inline void inboxd_defer(inboxd_call* call, size_t index, int64_t delay_ms, const char* error_class,
                                const char* message) {
  inboxd_say(call, index, INBOXD_DEFER, delay_ms, inboxd_text(error_class), inboxd_text(message));
}

static inline void inboxd_log(const inboxd_host* host, int32_t level, const char* text) {
  host->log(host, level, inboxd_text(text));
}

/* [call] The last header of this name, or NULL. Its value may be null. */
static inline const inboxd_header* inboxd_find_header(inboxd_call* call, size_t index, const char* name) {
  size_t count = 0;
  const inboxd_header* const headers = call->headers(call, index, &count);
  while (count > 0) {
    --count;
    if (inboxd_is(headers[count].name, name)) return &headers[count];
  }
  return NULL;
}

/* The value of a setting, ended by a 0 byte; `otherwise` if it is not configured. */
static inline const char* inboxd_setting_text(const inboxd_config* config, const char* name, const char* otherwise) {
  size_t i;
  for (i = 0; i < config->setting_count; ++i) {
    if (inboxd_is(config->settings[i].name, name)) return config->settings[i].value.data;
  }
  return otherwise;
}

/* The name of the first setting that is not in `known` (ended by NULL); NULL if all are. */
static inline const char* inboxd_unknown_setting(const inboxd_config* config, const char* const* known) {
  size_t i;
  for (i = 0; i < config->setting_count; ++i) {
    const char* const* name = known;
    while (*name != NULL && !inboxd_is(config->settings[i].name, *name)) ++name;
    if (*name == NULL) return config->settings[i].name.data;
  }
  return NULL;
}

#define INBOXD_ID_TEXT_SIZE 37

/* The id as the usual 36 characters and a 0 byte. */
static inline void inboxd_format_id(const uint8_t id[16], char text[INBOXD_ID_TEXT_SIZE]) {
  static const char digits[] = "0123456789abcdef";
  size_t i;
  char* out = text;
  for (i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
    *out++ = digits[id[i] >> 4];
    *out++ = digits[id[i] & 15];
  }
  *out = '\0';
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_HANDLER_H */
