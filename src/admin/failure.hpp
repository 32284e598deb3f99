#pragma once
#include <string>

#include "admin/operation.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::admin {

/// What a failed statement means to the person who asked: exit status and a sentence with what would be right. `where`
/// is the database, in the form that Connection::where gives.
Answer answer_for(const inbox::DatabaseFailure& failure, const std::string& where);

}  // namespace inboxd::admin
