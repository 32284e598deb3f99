/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.async/1`: calls that stay open after `handle` has returned. A plugin that names INBOXD_ASYNC in
 * `needs` ends each call with `finish`, from any thread. So hundreds of requests in flight take no thread each;
 * `concurrency` is the number of open calls.
 *
 *     static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
 *       send_request(instance, call, events, count);
 *     }
 *     static void answered(inboxd_call* call, int status) {
 *       const inboxd_async* const async = (const inboxd_async*)call->extension(call, INBOXD_ASYNC);
 *       if (status == 200) inboxd_done(call, 0);
 *       async->finish(call);
 *     }
 *
 * Contract
 *   - Each call ends with exactly one `finish`, during `handle` or later. The call and its events are gone then.
 *   - Until then one thread at a time uses the functions of a call that are marked [call].
 *   - One thread calls `handle` for all calls of an instance. It should not block, or it delays the others.
 *   - A call past its deadline is cancelled: see `is_cancelled`. If it is still open a second later, the daemon retries
 *     its event, or calls its events one by one. The plugin has to finish the call even then.
 *   - `destroy` comes after the last `finish`.
 *   - A plugin cannot need INBOXD_SQL, too: its transaction is bound to a thread.
 */
#ifndef INBOXD_ASYNC_H
#define INBOXD_ASYNC_H

#include "handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `needs`, and the name of the call's part (inboxd_async). */
#define INBOXD_ASYNC "inboxd.async/1"

typedef struct inboxd_async {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [any] Ends the call with the verdicts that were set. */
  void (*finish)(inboxd_call* call);
} inboxd_async;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_ASYNC_H */
