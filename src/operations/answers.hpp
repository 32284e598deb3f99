#pragma once
#include "operations/operation.hpp"

/// The answers of the operations as JSON schemas, for the OpenAPI document. A process test compares them with a running
/// daemon. Pure.
namespace inboxd::operations::answers {

/// Parts that several answers share, by name: `Event`, `DeadLetter`, …
Document components();

DocumentSchema status;
DocumentSchema events_list, events_show, events_trace;
DocumentSchema events_change;   ///< of `events retry` and `events skip`
DocumentSchema events_forget;
DocumentSchema events_not_one;  ///< if an id matches no event or several
DocumentSchema dead_list, dead_show, dead_replay, dead_edit, dead_discard, dead_note;
DocumentSchema dead_not_one;  ///< likewise
DocumentSchema lanes_list, lanes_release;
DocumentSchema quarantine_list, quarantine_show, quarantine_retry, quarantine_discard;
DocumentSchema outbox_list;
DocumentSchema outbox_change;  ///< of `outbox retry` and `outbox skip`
DocumentSchema handlers_list, handlers_pause, handlers_resume, handlers_run, handlers_retire, handlers_restore;
DocumentSchema handlers_backfill;
DocumentSchema partitions_list, partitions_accept_gap, partitions_accept_recreated, partitions_seek;
DocumentSchema audit_list;
DocumentSchema events_failures;
DocumentSchema history_show;
DocumentSchema instance_show;
DocumentSchema instance_paused;  ///< of `instance pause` and `instance resume`
DocumentSchema check, config_show, config_reference, config_schema, migrate, version;

}  // namespace inboxd::operations::answers
