/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.sql/1`: SQL in the transaction that also records the outcomes. The handler's writes and the
 * mark "done" are one commit: a crash at any point leaves both or neither. A plugin names INBOXD_SQL in `needs`;
 * without it, calls cost no transaction and no connection.
 *
 *     static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
 *       const inboxd_sql* const sql = (const inboxd_sql*)call->extension(call, INBOXD_SQL);
 *       inboxd_sql_value key = inboxd_sql_text(events[0]->key);
 *       inboxd_sql_statement receipt = inboxd_sql_query("call take_receipt($1)", &key, 1);
 *       const inboxd_sql_result* const result = sql->execute(call, &receipt);
 *       if (result->error != NULL) inboxd_sql_retry(call, 0, result->error);
 *       else inboxd_done(call, 0);
 *     }
 *
 * Contract
 *   - The transaction begins with the first statement and ends after the call, or after several (`group`). The verdicts
 *     are recorded in it before COMMIT, fenced: if another instance has claimed the events, all of it is rolled back.
 *   - An event that is not done leaves no writes. In a call of one event the daemon undoes them. In a call of several,
 *     the handler sets a savepoint before each event and rolls back to it (the C++ veneer does). If all events of a
 *     call fail, the daemon undoes the whole call.
 *   - After a failed statement all others fail (25P02), until rollback_to an earlier savepoint. If the call ends so,
 *     its writes are undone, and its "done" events fail with class `sql.SQLSTATE`.
 *   - If a call of a group is undone, the calls before it may run again, without counting an attempt. A call that ran
 *     SET LOCAL, DECLARE, CREATE, DO or set_config is the last of its group, so that no other sees its settings.
 *     Settings made inside functions do reach the next call.
 *   - After 40001, 40P01, 55P03 or a lost connection (`will_repeat`) the whole transaction runs again: the verdicts are
 *     ignored, and `handle` is called again with the same events, without counting an attempt.
 *   - The handler cannot end the transaction or change the session. BEGIN, COMMIT, ROLLBACK, SAVEPOINT, PREPARE, SET
 *     without LOCAL, RESET, LISTEN, COPY, cursors WITH HOLD, and temporary tables without ON COMMIT DROP fail with
 *     0A000. Session advisory locks are released in any case, and fail the event if noticed.
 *   - One statement at a time. A result larger than `database.result_bytes` fails with 54000.
 *   - Statements run under `database.handler_role` and `database.handler_search_path`, until the call's deadline.
 *   - Statements are prepared once per connection and cached by text: pass values as parameters.
 */
#ifndef INBOXD_SQL_H
#define INBOXD_SQL_H

#include "handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `needs`, and the name of the call's part (inboxd_sql) and the host's part (inboxd_sql_host). */
#define INBOXD_SQL "inboxd.sql/1"

/* For `needs`, beside INBOXD_SQL: only the handler's statements read payloads and headers, from relation `events`. So
 * the daemon need not fetch them, and `payload` may be NULL and `has_headers` 0 in any case. Has no call's or host's
 * part. */
#define INBOXD_SQL_WITHOUT_PAYLOADS "inboxd.sql.without-payloads/1"

/* ---- Values ----------------------------------------------------------------------------------------------------- */

enum {
  INBOXD_SQL_NULL = 0,
  INBOXD_SQL_BOOL = 1,        /* integer: 0 or 1 */
  INBOXD_SQL_INT64 = 2,       /* integer */
  INBOXD_SQL_DOUBLE = 3,      /* number */
  INBOXD_SQL_TEXT = 4,        /* bytes: UTF-8 */
  INBOXD_SQL_BYTEA = 5,       /* bytes */
  INBOXD_SQL_UUID = 6,        /* bytes: 16 in network order */
  INBOXD_SQL_TIMESTAMPTZ = 7, /* integer: microseconds since 1970-01-01 UTC */
  INBOXD_SQL_JSON = 8         /* bytes: UTF-8 */
};

/* A parameter or a field of a row. This struct never changes.
 *
 * The statement determines a parameter's type (`$1::numeric` if it does not), and the value is converted: text to any
 * type by its text form, bytes and text to each other unchanged, an integer to any number. A field's type follows its
 * column: all integers are INT64, both floats DOUBLE, json and jsonb JSON; types not in this list are TEXT. */
typedef struct inboxd_sql_value {
  int32_t type;
  uint32_t reserved; /* 0 */
  int64_t integer;
  double number;
  inboxd_bytes bytes;
} inboxd_sql_value;

/* ---- Statements ------------------------------------------------------------------------------------------------- */

/* The statement sees the events [first, first + count) of the call as relation `events`, in order, read from the inbox
 * by the database. For INSERT, UPDATE, DELETE, MERGE, SELECT, VALUES, also with WITH. Columns (type `inbox.message`):
 *   event_id uuid, source_id text, topic text, partition int, "offset" bigint, event_type text, source text,
 *   subject text, key text (null if it is not text), payload bytea,
 *   body jsonb (the payload; null if PostgreSQL does not accept it as JSON),
 *   headers jsonb, occurred_at timestamptz, received_at timestamptz, attempt int,
 *   key_bytes bytea (the key as it came) */
#define INBOXD_SQL_WITH_EVENTS 1u

/* Beside INBOXD_SQL_WITH_EVENTS: a statement that reads the `body` of a payload that is not JSON fails with IJ001 and
 * the reason. A tombstone's body is null. */
#define INBOXD_SQL_JSON_REQUIRED 2u
#define INBOXD_SQL_NOT_JSON "IJ001"

/* One statement and its parameters. Borrowed until `execute` returns. */
typedef struct inboxd_sql_statement {
  uint32_t struct_size;
  uint32_t flags; /* 0, or INBOXD_SQL_WITH_EVENTS, or that and INBOXD_SQL_JSON_REQUIRED */
  inboxd_bytes text;
  const inboxd_sql_value* values; /* of $1, $2, … */
  size_t value_count;
  size_t first; /* with events: the index of the first event in the call */
  size_t count; /* with events: their number; INBOXD_THE_REST: to the last event */
} inboxd_sql_statement;

/* ---- Results ---------------------------------------------------------------------------------------------------- */

/* The server's report on a failed statement. Fields that it did not give are null. */
typedef struct inboxd_sql_error {
  uint32_t struct_size;
  uint32_t position;    /* in the statement's text, in characters from 1; 0: none */
  int32_t will_repeat;  /* not 0: the transaction runs again and the verdicts are ignored: return soon */
  int32_t not_run;      /* not 0: rejected before it ran, so it fails for all events */
  inboxd_bytes sqlstate; /* five characters and a 0 byte; 08006 if the connection is lost */
  inboxd_bytes message;
  inboxd_bytes detail;
  inboxd_bytes hint;
  inboxd_bytes schema;
  inboxd_bytes table;
  inboxd_bytes column;
  inboxd_bytes constraint;
  inboxd_bytes data_type;
} inboxd_sql_error;

/* A column of a result. This struct never changes. */
typedef struct inboxd_sql_column {
  inboxd_bytes name;
  uint32_t type_id; /* the type's oid in the server */
  int32_t type;     /* of its values: INBOXD_SQL_BOOL and so on */
} inboxd_sql_column;

/* The result of a statement. Borrowed until `release`, or until `handle` returns. */
typedef struct inboxd_sql_result {
  uint32_t struct_size;
  uint32_t reserved;              /* 0 */
  const inboxd_sql_error* error;  /* NULL if the statement succeeded */
  uint64_t affected;              /* rows inserted, updated, deleted, merged or selected */
  size_t row_count;
  size_t column_count;
  const inboxd_sql_column* columns;
} inboxd_sql_result;

enum {
  INBOXD_SQL_READY = 0,  /* statements can be run */
  INBOXD_SQL_FAILED = 1, /* a statement failed: roll back to an earlier savepoint, or return */
  INBOXD_SQL_OVER = 2    /* nothing more can run in this call (repeated, lost, past the deadline): return */
};

/* ---- The call's part -------------------------------------------------------------------------------------------- */

/* `call->extension(call, INBOXD_SQL)`. All functions are [call] and take that call. */
typedef struct inboxd_sql {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* Runs one statement and waits for it. Returns all its rows, in memory; never NULL. */
  const inboxd_sql_result* (*execute)(inboxd_call* call, const inboxd_sql_statement* statement);

  /* The field at row and column, from 0; a null value if there is none. Its bytes live as long as the result. */
  void (*value)(const inboxd_sql_result* result, size_t row, size_t column, inboxd_sql_value* value);

  /* Frees a result before the call ends. NULL is ignored. */
  void (*release)(inboxd_call* call, const inboxd_sql_result* result);

  /* Sets a savepoint and returns its number, above 0. It travels with the next statement, without a round trip of its
   * own. Savepoints nest. */
  int32_t (*savepoint)(inboxd_call* call);

  /* Ends a savepoint and those set after it, and keeps the writes since. An unknown number changes nothing. */
  void (*release_savepoint)(inboxd_call* call, int32_t savepoint);

  /* Ends a savepoint and those set after it, and undoes the writes since. A failed transaction is ready again. */
  void (*rollback_to)(inboxd_call* call, int32_t savepoint);

  /* INBOXD_SQL_READY, INBOXD_SQL_FAILED or INBOXD_SQL_OVER. */
  int32_t (*state)(inboxd_call* call);
} inboxd_sql;

/* ---- The host's part -------------------------------------------------------------------------------------------- */

/* `host->extension(host, INBOXD_SQL)`. */
typedef struct inboxd_sql_host {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [main], during `create` only. The database parses and plans a statement without running it, under its later role
   * and search path. `values` may be NULL: `value_count` parameters. The result has the columns and no rows, or the
   * error with its position. Borrowed until the next `describe`, or until `create` returns. NULL: no database (an
   * offline check). */
  const inboxd_sql_result* (*describe)(const inboxd_host* host, const inboxd_sql_statement* statement);
} inboxd_sql_host;

/* ---- Helpers: no part of the contract, compiled into the plugin ------------------------------------------------- */

static inline inboxd_sql_value inboxd_sql_of_type(int32_t type) {
  inboxd_sql_value value;
  memset(&value, 0, sizeof value);
  value.type = type;
  return value;
}

static inline inboxd_sql_value inboxd_sql_null(void) { return inboxd_sql_of_type(INBOXD_SQL_NULL); }

static inline inboxd_sql_value inboxd_sql_bool(bool truth) {
  inboxd_sql_value value = inboxd_sql_of_type(INBOXD_SQL_BOOL);
  value.integer = truth ? 1 : 0;
  return value;
}

static inline inboxd_sql_value inboxd_sql_int64(int64_t integer) {
  inboxd_sql_value value = inboxd_sql_of_type(INBOXD_SQL_INT64);
  value.integer = integer;
  return value;
}

static inline inboxd_sql_value inboxd_sql_double(double number) {
  inboxd_sql_value value = inboxd_sql_of_type(INBOXD_SQL_DOUBLE);
  value.number = number;
  return value;
}

/* Microseconds since 1970-01-01 UTC; INBOXD_NO_TIME is null. */
static inline inboxd_sql_value inboxd_sql_time(int64_t microseconds) {
  inboxd_sql_value value = inboxd_sql_of_type(INBOXD_SQL_TIMESTAMPTZ);
  if (microseconds == INBOXD_NO_TIME) return inboxd_sql_null();
  value.integer = microseconds;
  return value;
}

/* Null bytes are null. */
static inline inboxd_sql_value inboxd_sql_bytes(int32_t type, inboxd_bytes bytes) {
  inboxd_sql_value value = inboxd_sql_of_type(bytes.data == NULL ? INBOXD_SQL_NULL : type);
  value.bytes = bytes;
  return value;
}
static inline inboxd_sql_value inboxd_sql_text(inboxd_bytes text) { return inboxd_sql_bytes(INBOXD_SQL_TEXT, text); }
static inline inboxd_sql_value inboxd_sql_bytea(inboxd_bytes raw) { return inboxd_sql_bytes(INBOXD_SQL_BYTEA, raw); }
static inline inboxd_sql_value inboxd_sql_json(inboxd_bytes text) { return inboxd_sql_bytes(INBOXD_SQL_JSON, text); }
static inline inboxd_sql_value inboxd_sql_uuid(const uint8_t id[16]) {
  inboxd_bytes bytes;
  bytes.data = (const char*)id;
  bytes.size = 16;
  return inboxd_sql_bytes(INBOXD_SQL_UUID, bytes);
}

/* A statement that does not see the events. */
static inline inboxd_sql_statement inboxd_sql_query(const char* text, const inboxd_sql_value* values, size_t count) {
  inboxd_sql_statement statement;
  memset(&statement, 0, sizeof statement);
  statement.struct_size = sizeof statement;
  statement.text = inboxd_text(text);
  statement.values = values;
  statement.value_count = count;
  return statement;
}

#define INBOXD_SQL_CLASS_SIZE 10

/* The error class of a failed statement, `sql.23505`, ended by a 0 byte. */
static inline void inboxd_sql_class(const inboxd_sql_error* error, char text[INBOXD_SQL_CLASS_SIZE]) {
  const size_t size = error->sqlstate.size < 5 ? error->sqlstate.size : 5;
  memcpy(text, "sql.", 4);
  if (size > 0) memcpy(text + 4, error->sqlstate.data, size);
  text[4 + size] = '\0';
}

/* Retry because of this error: class `sql.SQLSTATE`, the configured backoff. */
static inline void inboxd_sql_retry(inboxd_call* call, size_t index, const inboxd_sql_error* error) {
  char error_class[INBOXD_SQL_CLASS_SIZE];
  inboxd_sql_class(error, error_class);
  inboxd_say(call, index, INBOXD_RETRY, INBOXD_POLICY_DELAY, inboxd_text(error_class), error->message);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_SQL_H */
