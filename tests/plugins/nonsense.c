/* Returns invalid verdicts, chosen by the event's key. */
#include <inboxd/handler.h>

static int no_state;

static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) {
  (void)host;
  (void)error;
  (void)error_size;
  /* Refuses its settings without a message. */
  return config->setting_count > 0 ? NULL : &no_state;
}

static void say(inboxd_call* call, size_t index, int32_t outcome, int64_t delay_ms) {
  inboxd_say(call, index, outcome, delay_ms, inboxd_text("some.class"), inboxd_text("some message"));
}

static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
  size_t i;
  (void)instance;
  for (i = 0; i < count; ++i) {
    const inboxd_bytes key = events[i]->key;
    if (inboxd_is(key, "outcome")) say(call, i, 99, 0);
    if (inboxd_is(key, "zero")) say(call, i, 0, 0);
    if (inboxd_is(key, "delay")) say(call, i, INBOXD_RETRY, -5);
    if (inboxd_is(key, "centuries")) say(call, i, INBOXD_RETRY, INT64_MAX);
    if (inboxd_is(key, "null")) call->verdict(call, i, NULL);
    if (inboxd_is(key, "stray")) say(call, i + 1000, INBOXD_DONE, 0);
    if (inboxd_is(key, "short")) {
      inboxd_verdict verdict;
      memset(&verdict, 0, sizeof verdict);
      verdict.struct_size = 8;
      verdict.outcome = INBOXD_DONE;
      call->verdict(call, i, &verdict);
    }
    if (inboxd_is(key, "garbage")) {
      const inboxd_bytes text = {"\xff\x00\n!", 4};
      inboxd_say(call, i, INBOXD_RETRY, INBOXD_POLICY_DELAY, text, text);
    }
    if (inboxd_is(key, "twice")) {
      say(call, i, INBOXD_DEAD, 0);
      say(call, i, INBOXD_DONE, 0);
    }
    /* `nothing`, and any other key: no verdict. */
  }
}

static void destroy(void* instance) { (void)instance; }

const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const inboxd_plugin plugin = {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "nonsense",
                                       "1.0",                 NULL,             create,           handle, destroy};
  (void)host;
  return &plugin;
}
