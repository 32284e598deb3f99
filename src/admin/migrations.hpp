#pragma once
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "inbox/migrations.hpp"

namespace inboxd::admin {

/// {"applied", "known", "due": names}.
Document document_of(const inbox::MigrationState& state, const std::vector<inbox::Migration>& due);
/// What there is to migrate: `no` where anything is due, the database is newer, or it was made by another text; with
/// `sql` the text of what is due, too, and `no` only for a newer one. Changes nothing. Throws what the database throws.
Answer look_at_migrations(inbox::Connection& connection, const std::string& schema, bool sql);

}  // namespace inboxd::admin
