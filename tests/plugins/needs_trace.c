/* Needs the trace context, in C: dead-letters each event with the context as the reason, and creates a span for each
 * publication. */
#include <inboxd/trace.h>

static int no_state;

static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) {
  (void)host;
  (void)config;
  (void)error;
  (void)error_size;
  return &no_state;
}

static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
  const inboxd_trace* const trace = (const inboxd_trace*)call->extension(call, INBOXD_TRACE);
  size_t i;
  (void)instance;
  (void)events;
  if (trace == NULL || !INBOXD_HAS(trace, tracestate)) return;
  for (i = 0; i < count; ++i) {
    if (INBOXD_HAS(trace, end_publish)) {
      trace->end_publish(call, trace->begin_publish(call, i, inboxd_text("kafka"), inboxd_text("dead")), true,
                         inboxd_text(NULL));
    }
    inboxd_say(call, i, INBOXD_DEAD, INBOXD_POLICY_DELAY, inboxd_text("trace"), trace->traceparent(call, i));
  }
}

static void destroy(void* instance) { (void)instance; }

static const char* const needs[] = {INBOXD_TRACE, NULL};

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const inboxd_plugin plugin = {sizeof plugin, INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "needs-trace", "1.0",
                                       needs, create, handle, destroy};
  (void)host;
  return &plugin;
}
