#pragma once
#include <string>

#include "cli/terminal_text.hpp"
#include "operations/operation.hpp"

/// Documents as text for people: tables and sheets that end in a newline. Pure functions.
namespace inboxd::cli {

using Present = std::string(const operations::Document& document, const Look& look);
using Presenter = Present*;

Present present_status;
/// Parts of it: the findings with their remedies; the daemons.
Present present_findings, present_daemons;
/// The field `sizes` of status.
Present present_sizes;
Present present_events, present_event, present_trace, present_failures, present_event_change, present_forgotten;
Present present_dead_list, present_dead, present_dead_change, present_dead_edit, present_note;
Present present_lanes, present_lanes_change;
Present present_quarantine_list, present_quarantine, present_quarantine_change;
Present present_outbox, present_outbox_change;
Present present_handlers, present_paused, present_resumed, present_window_closed, present_backfill;
Present present_retired, present_restored;
Present present_partitions, present_accepted, present_seek;
Present present_audit, present_history, present_instance, present_instance_change;
Present present_configuration, present_reference, present_schema, present_version;

Present present_explained;

std::string present_verified(const operations::Document& document, const Look& look);

/// Events with the same ID, to choose from.
Present present_candidates;

/// The content that a handler gets in place of an event's own; null: nothing.
Present present_edit;

/// Headers and payload of an event or record, cut to a length for terminals.
Present present_content;

}  // namespace inboxd::cli
