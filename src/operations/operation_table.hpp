#pragma once
#include "operations/operation.hpp"

/// The functions of the table's rows, named after their verbs. Private to this room: others call operations().
namespace inboxd::operations::functions {

// status_operation.cpp
OperationFunction status;
// event_operations.cpp
OperationFunction events_list, events_show, events_trace;
// event_changes.cpp
OperationFunction events_retry, events_skip;
// forget_operation.cpp
OperationFunction events_forget;
// dead_operations.cpp
OperationFunction dead_list, dead_show, dead_replay, dead_discard;
// note_operation.cpp
OperationFunction dead_note;
// dead_edit.cpp
OperationFunction dead_edit;
// lane_operations.cpp
OperationFunction lanes_list, lanes_release;
// quarantine_operations.cpp
OperationFunction quarantine_list, quarantine_show, quarantine_retry, quarantine_discard;
// outbox_operations.cpp
OperationFunction outbox_list, outbox_retry, outbox_skip;
// handler_operations.cpp
OperationFunction handlers_list, handlers_pause, handlers_resume, handlers_run, handlers_retire, handlers_restore;
// backfill_operation.cpp
OperationFunction handlers_backfill;
// partition_operations.cpp
OperationFunction partitions_list, partitions_accept_gap, partitions_accept_recreated;
// seek_operation.cpp
OperationFunction partitions_seek;
// audit_operation.cpp, failure_operation.cpp
OperationFunction audit_list;
OperationFunction events_failures;
// history_operation.cpp
OperationFunction history_show;
// daemon_operations.cpp
OperationFunction instance_show, instance_pause, instance_resume;
OperationFunction check, config_show, config_reference, config_schema, version;
// migration_report.cpp
OperationFunction migrate;

}  // namespace inboxd::operations::functions
