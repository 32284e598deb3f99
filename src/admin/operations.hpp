#pragma once
#include <vector>

#include "admin/operation.hpp"

/// The families of the table, each in its file. Private to this room: others call operations().
namespace inboxd::admin {

std::vector<Operation> status_operations();
std::vector<Operation> event_operations();
std::vector<Operation> dead_operations();
std::vector<Operation> quarantine_operations();
std::vector<Operation> handler_operations();
std::vector<Operation> shard_operations();
std::vector<Operation> instance_operations();
std::vector<Operation> configuration_operations();
std::vector<Operation> migration_operations();
std::vector<Operation> version_operations();

/// Parameters that several operations share; `help` is a verb: `received`.
Parameter limit_parameter(std::int64_t default_number);
Parameter since_parameter(std::string help);
Parameter until_parameter(std::string help);
Parameter dry_run_parameter();
Parameter yes_parameter();

}  // namespace inboxd::admin
