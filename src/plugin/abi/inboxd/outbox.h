/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.outbox/1`: messages to Kafka in the transaction that also records the outcomes. They are sent
 * if it commits, and not if it rolls back. A plugin names INBOXD_OUTBOX in `needs`; it then gets the transaction of
 * <inboxd/sql.h> and its functions, also without INBOXD_SQL.
 *
 *     static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
 *       const inboxd_outbox* const outbox = (const inboxd_outbox*)call->extension(call, INBOXD_OUTBOX);
 *       const inboxd_outbox_message paid = {inboxd_text("payments"), events[0]->key, inboxd_text("{}"), NULL, 0};
 *       const inboxd_sql_error* const error = outbox->publish(call, &paid, 1, NULL);
 *       if (error != NULL) inboxd_sql_retry(call, 0, error);
 *       else inboxd_done(call, 0);
 *     }
 *
 * Contract
 *   - A message arrives at least once, after COMMIT, with its id in the header `outbox.id_header` (default: id). A
 *     repetition has the same id. Messages of one topic and key keep their order.
 *   - `publish` fails like a statement (see the contract of <inboxd/sql.h>): 22023 for an invalid topic, 54000 for a
 *     message above `outbox.message_bytes`. Savepoints undo it.
 *   - The daemon's role publishes, so `database.handler_role` needs no right for it.
 */
#ifndef INBOXD_OUTBOX_H
#define INBOXD_OUTBOX_H

#include "sql.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `needs`, and the name of the call's part (inboxd_outbox). */
#define INBOXD_OUTBOX "inboxd.outbox/1"

/* A message. Borrowed until `publish` returns. This struct never changes. */
typedef struct inboxd_outbox_message {
  inboxd_bytes topic;
  inboxd_bytes key;             /* null: none, and no order */
  inboxd_bytes payload;         /* null: a tombstone */
  const inboxd_header* headers; /* may be NULL */
  size_t header_count;
} inboxd_outbox_message;

/* `call->extension(call, INBOXD_OUTBOX)`. */
typedef struct inboxd_outbox {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] Publishes messages in one round trip, in order, all or none. Writes their ids to `ids`, unless that is NULL.
   * Returns NULL, or the error, which is borrowed until the next `publish`, or until `handle` returns. */
  const inboxd_sql_error* (*publish)(inboxd_call* call, const inboxd_outbox_message* messages, size_t count,
                                     uint8_t (*ids)[16]);

  /* [call] The same for the event at `index`. The ids are derived from the handler's name, the event's id and the
   * number of the message. A repetition after a restore or failover has the same ids, and another inbox absorbs it.
   * `publish` does so if the call has one event; otherwise its ids are random. INBOXD_THE_REST: as `publish`. */
  const inboxd_sql_error* (*publish_for)(inboxd_call* call, size_t index, const inboxd_outbox_message* messages,
                                         size_t count, uint8_t (*ids)[16]);
} inboxd_outbox;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_OUTBOX_H */
