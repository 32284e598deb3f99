/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.json/1`: the JSON in a payload, by the daemon's one rule, which ids and handler `sql` follow,
 * too. A payload may begin with a byte order mark, or with five bytes of a schema registry's serializer; a parser
 * rejects both. A plugin may require the name INBOXD_JSON in `needs`.
 *
 *     const inboxd_json* const json = (const inboxd_json*)call->extension(call, INBOXD_JSON);
 *     inboxd_bytes problem;
 *     const inboxd_bytes body = json->body(call, 0, &problem);
 *     if (body.data == NULL) inboxd_dead(call, 0, "validation.json", problem.data);
 */
#ifndef INBOXD_JSON_H
#define INBOXD_JSON_H

#include "handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `needs`, and the name of the call's part (inboxd_json). The host has no part. */
#define INBOXD_JSON "inboxd.json/1"

typedef struct inboxd_json {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] The JSON of the event at `index`: one value by RFC 8259, in UTF-8, byte for byte as the producer wrote it.
   * Null: a tombstone, or no JSON; then `problem` (may be NULL) gets a sentence without subject, ended by a 0 byte.
   * Without the wrapping that `topics[].unwrap` takes off. Borrowed until `handle` returns. */
  inboxd_bytes (*body)(inboxd_call* call, size_t index, inboxd_bytes* problem);
} inboxd_json;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_JSON_H */
