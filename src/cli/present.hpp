#pragma once
#include <string>

#include "admin/operation.hpp"
#include "cli/look.hpp"

/// What people read of an operation's document: tables and sheets, ending in a newline. Pure functions.
namespace inboxd::cli {

using Presenter = std::string (*)(const admin::Document& document, const Look& look);

std::string present_status(const admin::Document& document, const Look& look);
std::string present_events(const admin::Document& document, const Look& look);
std::string present_event(const admin::Document& document, const Look& look);
std::string present_trace(const admin::Document& document, const Look& look);
std::string present_dead_list(const admin::Document& document, const Look& look);
std::string present_dead(const admin::Document& document, const Look& look);
std::string present_dead_change(const admin::Document& document, const Look& look);
std::string present_quarantine_list(const admin::Document& document, const Look& look);
std::string present_quarantine(const admin::Document& document, const Look& look);
std::string present_handlers(const admin::Document& document, const Look& look);
std::string present_retired(const admin::Document& document, const Look& look);
std::string present_shards(const admin::Document& document, const Look& look);
std::string present_accepted(const admin::Document& document, const Look& look);
std::string present_instance(const admin::Document& document, const Look& look);
std::string present_instance_change(const admin::Document& document, const Look& look);
std::string present_configuration(const admin::Document& document, const Look& look);
std::string present_reference(const admin::Document& document, const Look& look);
std::string present_schema(const admin::Document& document, const Look& look);
std::string present_version(const admin::Document& document, const Look& look);

/// Headers and payload of an event or record, as far as a terminal is the place for them.
std::string present_content(const admin::Document& record, const Look& look);

}  // namespace inboxd::cli
