#pragma once
#include "admin/operation.hpp"

/// What each operation answers, field by field, as JSON schemas: where programs read what they get. A process test
/// holds them against the running server. Pure.
namespace inboxd::admin::answers {

/// What several answers have in them, by name: `Event`, `DeadLetter`, …
Document components();

Document status();
Document events_list();
Document events_show();
Document events_trace();
/// Where an id means none or several.
Document events_not_one();
Document dead_list();
Document dead_show();
Document dead_replay();
Document dead_discard();
Document quarantine_list();
Document quarantine_show();
Document handlers_list();
Document handlers_retire();
Document shards_list();
Document shards_accept_gap();
Document shards_accept_incarnation();
Document instance_show();
Document instance_paused();
Document check();
Document config_show();
Document config_reference();
Document config_schema();
Document migrate();
Document version();

}  // namespace inboxd::admin::answers
