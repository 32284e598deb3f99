#pragma once
#include <string>

#include "cli/terminal_text.hpp"
#include "operations/operation.hpp"

/// Documents as text for people: tables and sheets that end in a newline. Pure functions.
namespace inboxd::cli {

using Presenter = std::string (*)(const operations::Document& document, const Look& look);

std::string present_status(const operations::Document& document, const Look& look);
/// The field `sizes` of status.
std::string present_sizes(const operations::Document& sizes, const Look& look);
std::string present_events(const operations::Document& document, const Look& look);
std::string present_event(const operations::Document& document, const Look& look);
std::string present_trace(const operations::Document& document, const Look& look);
std::string present_event_change(const operations::Document& document, const Look& look);
std::string present_forgotten(const operations::Document& document, const Look& look);
std::string present_dead_list(const operations::Document& document, const Look& look);
std::string present_dead(const operations::Document& document, const Look& look);
std::string present_dead_change(const operations::Document& document, const Look& look);
std::string present_dead_edit(const operations::Document& document, const Look& look);
std::string present_lanes(const operations::Document& document, const Look& look);
std::string present_lanes_change(const operations::Document& document, const Look& look);
std::string present_quarantine_list(const operations::Document& document, const Look& look);
std::string present_quarantine(const operations::Document& document, const Look& look);
std::string present_quarantine_change(const operations::Document& document, const Look& look);
std::string present_outbox(const operations::Document& document, const Look& look);
std::string present_outbox_change(const operations::Document& document, const Look& look);
std::string present_handlers(const operations::Document& document, const Look& look);
std::string present_paused(const operations::Document& document, const Look& look);
std::string present_resumed(const operations::Document& document, const Look& look);
std::string present_window_closed(const operations::Document& document, const Look& look);
std::string present_backfill(const operations::Document& document, const Look& look);
std::string present_retired(const operations::Document& document, const Look& look);
std::string present_restored(const operations::Document& document, const Look& look);
std::string present_partitions(const operations::Document& document, const Look& look);
std::string present_accepted(const operations::Document& document, const Look& look);
std::string present_seek(const operations::Document& document, const Look& look);
std::string present_audit(const operations::Document& document, const Look& look);
std::string present_instance(const operations::Document& document, const Look& look);
std::string present_instance_change(const operations::Document& document, const Look& look);
std::string present_configuration(const operations::Document& document, const Look& look);
std::string present_reference(const operations::Document& document, const Look& look);
std::string present_schema(const operations::Document& document, const Look& look);
std::string present_version(const operations::Document& document, const Look& look);

std::string present_verified(const operations::Document& document, const Look& look);

/// Events with the same ID, to choose from.
std::string present_candidates(const operations::Document& events, const Look& look);

/// The content that a handler gets in place of an event's own; null: nothing.
std::string present_edit(const operations::Document& edit, const Look& look);

/// Headers and payload of an event or record, cut to a length for terminals.
std::string present_content(const operations::Document& record, const Look& look);

}  // namespace inboxd::cli
