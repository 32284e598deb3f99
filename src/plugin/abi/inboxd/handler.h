/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between inboxd and a handler: a shared object that is called with events out of the inbox. Plain C99,
 * so that any language that can export a C function can make one. In C++ use <inboxd/handler.hpp>, which wraps it.
 *
 * A handler in full:
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
 *         if (events[i]->payload.data == NULL) inboxd_dead(call, i, "validation.payload", "a tombstone is no order");
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
 * Build it with the CMake package (`find_package(inboxd)`, `inboxd_add_handler(example example.c)`), look at it with
 * `inboxd plugin check ./example.so`, and name it in the configuration: `plugin: ./example.so`.
 *
 * What a handler may rely on
 *   - An event is handed over again until it is done or dead: after `retry`, after a crash, and when an instance of the
 *     daemon died in between. So an effect outside the database can happen twice; the event's id is the same each
 *     time and makes a good idempotency key. `attempt` says how often handlers have failed before, plus one.
 *   - One call has 1 to `events_per_call` events, each gets a verdict of its own. What gets none is tried again later,
 *     with the error class `no-verdict`, so that a forgotten verdict is seen and nothing is lost.
 *
 * Threads. Each function below has a tag:
 *   [main]                one thread at a time, and no other function of the same instance runs meanwhile
 *   [worker, concurrent]  on any of the daemon's worker threads, several at once on one instance (`concurrency` in the
 *                         configuration); what the instance shares between calls needs a lock
 *   [call]                only during a call of `handle`, on the thread that it runs on
 *   [any]                 on any thread, also the plugin's own
 *
 * Memory. Nothing allocated on one side is freed on the other. What is handed over is borrowed for the time that its
 * comment names; copy what has to live longer. Text is UTF-8, but what came with an event is whatever its producer
 * wrote.
 *
 * Versions. The major number changes when something breaks; a daemon refuses plugins of another major number. The minor
 * number rises when something is added, and that happens only at the tail of a struct or as a named extension. So older
 * plugins work in newer daemons, and newer plugins in older daemons, as long as they ask before they use what is new:
 * `INBOXD_HAS(host, field)`. A plugin that cannot do without it says so (host->log) and returns NULL from
 * `inboxd_plugin_entry`.
 *
 * A plugin stays loaded until the process ends, also after a reload that no longer names it. Put a new version in its
 * place by renaming (`mv`, `install`), not by writing into the file: a restart takes it. A reload takes only one of
 * another name, and warns of a file that was replaced.
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

/* Whether the struct that `pointer` points to, which the other side made, is new enough to have `field`. */
#define INBOXD_HAS(pointer, field) \
  ((pointer)->struct_size >= \
   (size_t)((const char*)&(pointer)->field - (const char*)(pointer)) + sizeof((pointer)->field))

#if defined(__GNUC__)
#define INBOXD_EXPORT __attribute__((visibility("default")))
#else
#define INBOXD_EXPORT
#endif

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

/* Bytes that somebody else owns. `data` NULL is null, which is not the same as empty (data not NULL, size 0): a
 * tombstone is no empty payload. There is no 0 after the last byte unless a comment promises one. This struct never
 * changes. */
typedef struct inboxd_bytes {
  const char* data;
  size_t size;
} inboxd_bytes;

/* ---- Events ----------------------------------------------------------------------------------------------------- */

#define INBOXD_NO_TIME INT64_MIN

/* One event. It and all its bytes are borrowed until `handle` returns. */
typedef struct inboxd_event {
  uint32_t struct_size;
  int32_t attempt;          /* 1 on the first try */
  uint8_t event_id[16];     /* a UUID in network order, the same on every attempt: inboxd_format_id makes text of it */
  inboxd_bytes source_id;   /* the producer's own text of the id; null where that is the UUID itself */
  inboxd_bytes event_type;  /* never null */
  inboxd_bytes source;      /* who sent it (CloudEvents `source` and the like); null where unknown */
  inboxd_bytes subject;     /* what it is about; null where unknown */
  inboxd_bytes key;         /* the Kafka key; may be null */
  inboxd_bytes payload;     /* null is a tombstone */
  inboxd_bytes topic;       /* never null */
  int64_t offset;
  int32_t partition;
  uint32_t has_headers;     /* 0: there are none; else call->headers has them */
  int64_t occurred_at;      /* by the producer, or INBOXD_NO_TIME. Times are microseconds since 1970-01-01 UTC */
  int64_t kafka_timestamp;  /* of the record, or INBOXD_NO_TIME */
  int64_t received_at;      /* when it came into the inbox, by the database's clock; INBOXD_NO_TIME where not known */
} inboxd_event;

/* One header. Names may repeat (by custom the last one wins), values may be null. This struct never changes. */
typedef struct inboxd_header {
  inboxd_bytes name;
  inboxd_bytes value;
} inboxd_header;

/* ---- Verdicts --------------------------------------------------------------------------------------------------- */

enum {
  INBOXD_DONE = 1,  /* the event is finished */
  INBOXD_RETRY = 2, /* failed, worth another try: after `delay_ms`, or after the backoff that is configured */
  INBOXD_DEAD = 3   /* failed, and no retry will mend it: to the dead letters at once */
};

#define INBOXD_POLICY_DELAY (-1)                              /* as the handler's `retry` configuration says */
#define INBOXD_MAX_DELAY_MS (INT64_C(366) * 24 * 3600 * 1000) /* longer, or less than -1, is no verdict */
#define INBOXD_ERROR_CLASS_LIMIT 64                           /* bytes; what is longer is cut */
#define INBOXD_MESSAGE_LIMIT 4096                             /* bytes; what is longer is cut */
#define INBOXD_THE_REST SIZE_MAX                              /* as index: all events that have no verdict yet */

/* What the handler says of one event. The texts are copied before `call->verdict` returns. */
typedef struct inboxd_verdict {
  uint32_t struct_size;
  int32_t outcome;          /* INBOXD_DONE, INBOXD_RETRY or INBOXD_DEAD */
  int64_t delay_ms;         /* INBOXD_RETRY: INBOXD_POLICY_DELAY, or 0 to INBOXD_MAX_DELAY_MS */
  inboxd_bytes error_class; /* short and dotted, for rules and dashboards: `timeout`, `validation.amount`; letters,
                               digits and . _ - (others become _); may be null */
  inboxd_bytes message;     /* for people, what went wrong with this event; no secrets; may be null */
} inboxd_verdict;

/* Error classes of the daemon's own, all of them retried:
 *   no-verdict   `handle` returned without a verdict for the event
 *   cancelled    the same, after the call was cancelled: the handler did not get to the event. A handler may say it,
 *                too. Where the daemon is stopping it is no failure: the event is given back, no attempt is counted.
 *                Nor where the call took too long and had several events: those are called again, each alone
 *   bad-verdict  a verdict that makes no sense: unknown outcome, absurd delay, short struct
 *   exception    an exception left the handler */

/* ---- A call ----------------------------------------------------------------------------------------------------- */

typedef struct inboxd_call inboxd_call;

/* One call of `handle`: the daemon's side of it. Borrowed until `handle` returns. */
struct inboxd_call {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] Says what became of the event at `index` of this call, or of INBOXD_THE_REST. Said twice, the last holds.
   * An index that the call does not have changes nothing. See inboxd_done, inboxd_retry and inboxd_dead below. */
  void (*verdict)(inboxd_call* call, size_t index, const inboxd_verdict* verdict);

  /* [call] The headers of the event at `index`, in their order, and how many. NULL and 0 where there are none.
   * Borrowed until `handle` returns. They are unpacked at the first question; an event whose headers nobody wants
   * costs nothing. */
  const inboxd_header* (*headers)(inboxd_call* call, size_t index, size_t* count);

  /* [any], during the call. Whether nobody waits for the verdicts any more: the deadline is past, the daemon is
   * stopping, or others may take the events by now. A handler that works or waits for long asks now and then, and
   * returns soon when it is true, without a verdict for what it did not get to. */
  bool (*is_cancelled)(const inboxd_call* call);

  /* [any], during the call. Milliseconds until the call's deadline, 0 when it is past: for the timeouts of what the
   * handler itself calls. */
  int64_t (*deadline_ms_left)(const inboxd_call* call);

  /* [call] The call's part of a named extension (`inboxd.NAME/MAJOR`), or NULL where this daemon does not have it, or
   * where the plugin's table did not name it in `needs` and the extension's own header wants that. The header describes
   * what it points to; borrowed until `handle` returns. There are <inboxd/sql.h> and <inboxd/trace.h>. */
  const void* (*extension)(inboxd_call* call, const char* name);
};

/* ---- The host --------------------------------------------------------------------------------------------------- */

enum { INBOXD_LOG_DEBUG = 0, INBOXD_LOG_INFO = 1, INBOXD_LOG_WARN = 2, INBOXD_LOG_ERROR = 3 };

#define INBOXD_LOG_LIMIT 4096 /* bytes of a line; what is longer is cut */

typedef struct inboxd_host inboxd_host;

/* The daemon, as a plugin sees it. The one given to `inboxd_plugin_entry` is borrowed until that returns; the one given
 * to `create` until `destroy` has returned. The first three fields are the same in every version there will be. */
struct inboxd_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* version; /* the daemon's, for people */

  /* [any] Writes one line to the daemon's log, with the handler's name. Control characters are escaped, so that no
   * event can forge a line. No payloads and no secrets, please: the log is for operators. */
  void (*log)(const inboxd_host* host, int32_t level, inboxd_bytes text);

  /* [main] The host's part of a named extension, or NULL where this daemon does not have it. What it points to lives as
   * long as the host. There is <inboxd/sql.h>. */
  const void* (*extension)(const inboxd_host* host, const char* name);
};

/* ---- Settings --------------------------------------------------------------------------------------------------- */

/* One of the handler's `settings` in the configuration. Scalars are text as they were written, lists and maps are
 * compact JSON. Both are followed by a 0 byte. This struct never changes. */
typedef struct inboxd_setting {
  inboxd_bytes name;
  inboxd_bytes value;
} inboxd_setting;

/* What the configuration says of a handler. Borrowed until `create` returns. */
typedef struct inboxd_config {
  uint32_t struct_size;
  uint32_t reserved;              /* 0 */
  inboxd_bytes handler;           /* the handler's name; followed by a 0 byte */
  const inboxd_setting* settings; /* sorted by name, each name once */
  size_t setting_count;
} inboxd_config;

/* ---- The plugin ------------------------------------------------------------------------------------------------- */

/* What a plugin is: a table that stays as it is until the process ends. The first three fields are the same in every
 * version there will be. */
typedef struct inboxd_plugin {
  uint32_t struct_size; /* sizeof(inboxd_plugin) */
  uint16_t abi_major;   /* INBOXD_ABI_MAJOR */
  uint16_t abi_minor;   /* INBOXD_ABI_MINOR */
  const char* name;     /* short, for people: `receipt` */
  const char* version;  /* the plugin's own, for people: `1.4.2` */

  /* Names of the extensions without which the plugin cannot work, ended by NULL; or NULL for none. A daemon that lacks
   * one refuses the plugin and says which. */
  const char* const* needs;

  /* [main] Makes an instance for one handler of the configuration; several may be made of one plugin. Returns it (any
   * pointer but NULL; a plugin without state returns the address of something of its own), or NULL after it has written
   * into `error` a sentence, ended by a 0 byte, that says what is wrong and what would be right: snprintf(error,
   * error_size, ...). The daemon then refuses the configuration. Refuse settings that you do not know, too
   * (inboxd_unknown_setting): a misspelt one should not be ignored. */
  void* (*create)(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size);

  /* [worker, concurrent] Works through `count` (at least 1) events and gives each a verdict through `call`. Blocks as
   * long as it takes, and should end before the deadline; see is_cancelled. No exception may leave it. */
  void (*handle)(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count);

  /* [any] Ends an instance, once; all its calls have returned, and it is not used any more. The daemon goes on
   * meanwhile (other instances are made and called), and its end waits no longer than `shutdown.drain`. */
  void (*destroy)(void* instance);
} inboxd_plugin;

/* [main] The one function that a plugin exports (INBOXD_EXPORT). Returns its table, the same each time it is asked; or
 * NULL where it cannot work in this daemon, after it has said why through host->log. It makes nothing that would have
 * to be ended. */
INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host);

/* ---- Helpers: no part of the contract, compiled into the plugin ------------------------------------------------- */

/* Text that ends with a 0 byte, as bytes without it. NULL stays null. */
static inline inboxd_bytes inboxd_text(const char* text) {
  inboxd_bytes bytes;
  bytes.data = text;
  bytes.size = text == NULL ? 0 : strlen(text);
  return bytes;
}

/* Whether the bytes are this text. Null is no text. */
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

/* delay_ms: INBOXD_POLICY_DELAY unless the handler knows better (a Retry-After, say). */
static inline void inboxd_retry(inboxd_call* call, size_t index, int64_t delay_ms, const char* error_class,
                                const char* message) {
  inboxd_say(call, index, INBOXD_RETRY, delay_ms, inboxd_text(error_class), inboxd_text(message));
}

static inline void inboxd_dead(inboxd_call* call, size_t index, const char* error_class, const char* message) {
  inboxd_say(call, index, INBOXD_DEAD, INBOXD_POLICY_DELAY, inboxd_text(error_class), inboxd_text(message));
}

static inline void inboxd_log(const inboxd_host* host, int32_t level, const char* text) {
  host->log(host, level, inboxd_text(text));
}

/* [call] The last header of that name, or NULL. Its value may be null. */
static inline const inboxd_header* inboxd_find_header(inboxd_call* call, size_t index, const char* name) {
  size_t count = 0;
  const inboxd_header* const headers = call->headers(call, index, &count);
  while (count > 0) {
    --count;
    if (inboxd_is(headers[count].name, name)) return &headers[count];
  }
  return NULL;
}

/* The value of a setting, ended by a 0 byte, or `otherwise` where the configuration does not have it. */
static inline const char* inboxd_setting_text(const inboxd_config* config, const char* name, const char* otherwise) {
  size_t i;
  for (i = 0; i < config->setting_count; ++i) {
    if (inboxd_is(config->settings[i].name, name)) return config->settings[i].value.data;
  }
  return otherwise;
}

/* The name of the first setting that is not among `known` (ended by NULL), or NULL where all are. */
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
