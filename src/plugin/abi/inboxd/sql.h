/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.sql/1`: SQL in the transaction that also records what became of the events. What a handler
 * writes through it and the mark that its events are done are one commit: both are there, or neither is, whoever dies
 * when. A plugin names INBOXD_SQL in the `needs` of its table; one that does not costs no transaction and no
 * connection.
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
 * What a handler may rely on
 *   - The transaction begins with the first statement and ends after the call (or after several calls: `group`). Before
 *     it is committed, the verdicts are recorded in it, guarded by the lease: where others have the events by now,
 *     nothing of it is kept.
 *   - An event that is not done leaves nothing behind. For a call of one event the daemon sees to that. In a call of
 *     several, the handler does: a savepoint before each event's statements, rollback_to where it failed (the C++
 *     veneer does so by itself). Where all events of a call failed, all that the call wrote is undone.
 *   - A statement that fails makes the ones after it fail, too (25P02), until a savepoint from before is rolled back
 *     to. Where that has not happened when the call ends, all it wrote is undone, and its events that were said to be
 *     done become failures of the class `sql.SQLSTATE`.
 *   - Where calls share a transaction (`group`) and one of them has to be undone, those before it may be made again,
 *     too: that is no attempt either. A call that ran SET LOCAL, DECLARE, CREATE, DO or anything with set_config is
 *     the last of its transaction, so that no other meets what it set; what a function sets by itself they do meet.
 *   - After 40001, 40P01, 55P03 or a lost connection the daemon runs the whole transaction again, so `handle` is called
 *     again with the same events; that is no attempt. `will_repeat` says so; what the verdicts say is not looked at.
 *   - The handler cannot end the transaction nor change the session: BEGIN, COMMIT, ROLLBACK, SAVEPOINT, PREPARE, SET
 *     without LOCAL, RESET, LISTEN, COPY, cursors WITH HOLD, temporary tables without ON COMMIT DROP are refused with
 *     SQLSTATE 0A000; session advisory locks fail the event where they are found, and are given back in any case. One
 *     statement at a time.
 *   - Rows of more than `database.result_bytes` are not handed over: such a statement fails with SQLSTATE 54000.
 *   - Statements run under `database.handler_role`, with `database.handler_search_path`, and no longer than the call's
 *     deadline.
 *
 * Statements are prepared once a connection and kept by their text: put what varies into parameters, not into the text.
 */
#ifndef INBOXD_SQL_H
#define INBOXD_SQL_H

#include "handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `needs`, and the name of the call's part (inboxd_sql) and the host's part (inboxd_sql_host). */
#define INBOXD_SQL "inboxd.sql/1"

/* For `needs`, beside INBOXD_SQL: the handler does not look at payloads and headers itself (its statements read them
 * from relation `events`). Then the daemon need not fetch them: `payload` may be NULL and `has_headers` 0 for an event
 * that has both. It has neither a call's nor a host's part. */
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
 * A parameter gets the type that the statement gives it (write `$1::numeric` where it gives none); the value is
 * converted: a text to anything that its text form fits, bytes and texts to each other as they are, an integer to
 * every number. What a field's column is decides how it comes: integers of every width as INT64, both floats as
 * DOUBLE, json and jsonb as JSON, and what is not in the list above in its text form, as TEXT. */
typedef struct inboxd_sql_value {
  int32_t type;
  uint32_t reserved; /* 0 */
  int64_t integer;
  double number;
  inboxd_bytes bytes;
} inboxd_sql_value;

/* ---- Statements ------------------------------------------------------------------------------------------------- */

/* The statement sees the events [first, first + count) of the call as a relation `events`, in order, with the columns
 * of type `inbox.message`: event_id uuid, source_id text, topic text, partition int, "offset" bigint, event_type text,
 * source text, subject text, key text (null where it is no text), payload bytea, body jsonb (the payload, null where it
 * is no JSON that PostgreSQL takes), headers jsonb, occurred_at timestamptz, received_at timestamptz, attempt int.
 * The database reads them from the inbox: they do not travel. For INSERT, UPDATE, DELETE, MERGE, SELECT, VALUES, with
 * or without a WITH of their own. */
#define INBOXD_SQL_WITH_EVENTS 1u

/* One statement and its parameters. Borrowed until `execute` returns. */
typedef struct inboxd_sql_statement {
  uint32_t struct_size;
  uint32_t flags; /* 0 or INBOXD_SQL_WITH_EVENTS */
  inboxd_bytes text;
  const inboxd_sql_value* values; /* of $1, $2, … */
  size_t value_count;
  size_t first; /* with events: the index of the first one in the call */
  size_t count; /* and how many; INBOXD_THE_REST: to the last */
} inboxd_sql_statement;

/* ---- Results ---------------------------------------------------------------------------------------------------- */

/* What the server said of a statement that failed. What it did not name is null. */
typedef struct inboxd_sql_error {
  uint32_t struct_size;
  uint32_t position;    /* in the statement's text, in characters, the first is 1; 0: nowhere in it */
  int32_t will_repeat;  /* not 0: the daemon runs the whole transaction again, whatever the verdicts are: return soon */
  int32_t not_run;      /* not 0: the statement itself is wrong, whatever its events: it could not even be read */
  inboxd_bytes sqlstate; /* five characters, followed by a 0 byte; 08006 where the connection is lost */
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
  int32_t type;     /* as what its values come, INBOXD_SQL_BOOL and so on */
} inboxd_sql_column;

/* What became of a statement. Borrowed until `release`, or until `handle` returns. */
typedef struct inboxd_sql_result {
  uint32_t struct_size;
  uint32_t reserved;              /* 0 */
  const inboxd_sql_error* error;  /* NULL where the statement went well */
  uint64_t affected;              /* rows inserted, updated, deleted, merged or selected */
  size_t row_count;
  size_t column_count;
  const inboxd_sql_column* columns;
} inboxd_sql_result;

enum {
  INBOXD_SQL_READY = 0,  /* statements can be run */
  INBOXD_SQL_FAILED = 1, /* one failed: roll back to a savepoint from before it, or return */
  INBOXD_SQL_OVER = 2    /* nothing can be run any more in this call (repeated, lost, past the deadline): return */
};

/* ---- The call's part -------------------------------------------------------------------------------------------- */

/* `call->extension(call, INBOXD_SQL)`. All functions: [call], with the call that it was asked of. */
typedef struct inboxd_sql {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* Runs one statement and waits for it. Never NULL. All its rows are in memory. */
  const inboxd_sql_result* (*execute)(inboxd_call* call, const inboxd_sql_statement* statement);

  /* The field of a row (both from 0); a null value where there is no such field. Its bytes live as long as
   * the result. */
  void (*value)(const inboxd_sql_result* result, size_t row, size_t column, inboxd_sql_value* value);

  /* Frees a result before the call ends. NULL is nothing. */
  void (*release)(inboxd_call* call, const inboxd_sql_result* result);

  /* Sets a savepoint and returns its number, which is more than 0. It travels with the next statement, so that it costs
   * no round trip, and nothing where none follows. They nest. */
  int32_t (*savepoint)(inboxd_call* call);

  /* Ends a savepoint (and those set after it) and keeps what was done since. One that is not there changes nothing. */
  void (*release_savepoint)(inboxd_call* call, int32_t savepoint);

  /* Ends a savepoint (and those set after it) and undoes all that was done since; a failed transaction is ready
   * again. */
  void (*rollback_to)(inboxd_call* call, int32_t savepoint);

  /* INBOXD_SQL_READY, INBOXD_SQL_FAILED or INBOXD_SQL_OVER. */
  int32_t (*state)(inboxd_call* call);
} inboxd_sql;

/* ---- The host's part -------------------------------------------------------------------------------------------- */

/* `host->extension(host, INBOXD_SQL)`. */
typedef struct inboxd_sql_host {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [main], during `create` only. Has the database read and plan a statement without running it, under the role and the
   * search path that it will have: syntax, tables, columns, functions, rights. `values` may be NULL: then `value_count`
   * says how many parameters it has. The result has the columns and no rows, or the error with its position. It is
   * borrowed until the next `describe`, or until `create` returns. NULL where no database is at hand (an offline
   * check): then nothing can be said. */
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

/* Says that the event failed because of this error, of class `sql.SQLSTATE`, after the backoff that is configured. */
static inline void inboxd_sql_retry(inboxd_call* call, size_t index, const inboxd_sql_error* error) {
  char error_class[INBOXD_SQL_CLASS_SIZE];
  inboxd_sql_class(error, error_class);
  inboxd_say(call, index, INBOXD_RETRY, INBOXD_POLICY_DELAY, inboxd_text(error_class), error->message);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_SQL_H */
