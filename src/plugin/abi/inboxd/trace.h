/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.trace/1`: the W3C trace context of each event of a call, for whatever the handler asks of
 * others on its behalf (an HTTP request's `traceparent` header). Every plugin may ask for the call's part; one that
 * names INBOXD_TRACE in its `needs` is refused by a daemon that has none.
 *
 *     const inboxd_trace* const trace = (const inboxd_trace*)call->extension(call, INBOXD_TRACE);
 *     inboxd_bytes parent = trace == NULL ? inboxd_text(NULL) : trace->traceparent(call, 0);
 *     if (parent.data != NULL) add_header(request, "traceparent", parent);
 */
#ifndef INBOXD_TRACE_H
#define INBOXD_TRACE_H

#include "handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the call's part (inboxd_trace), and for `needs`. The host has no part. */
#define INBOXD_TRACE "inboxd.trace/1"

typedef struct inboxd_trace {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] The context that work on the event at `index` belongs to: where the daemon sends spans itself, that of its
   * span of this attempt; else what the producer wrote, into a header (`traceparent`, `ce_traceparent`) or the
   * CloudEvent. Always a valid one of 55 characters, fit for a header; null where there is none. Borrowed until
   * `handle` returns. */
  inboxd_bytes (*traceparent)(inboxd_call* call, size_t index);

  /* [call] The producer's `tracestate`, to be handed on beside it as it is: printable ASCII. Null where there is none,
   * and where the daemon's span belongs to another trace than the producer's. Borrowed until `handle` returns. */
  inboxd_bytes (*tracestate)(inboxd_call* call, size_t index);
} inboxd_trace;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_TRACE_H */
