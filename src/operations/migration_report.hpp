#pragma once
#include <string>
#include <vector>

#include "inbox/migrations.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

/// {"applied", "known", "due": names}.
Document document_of(const inbox::MigrationState& state, const std::vector<inbox::Migration>& due);
/// Compares the database with this program's migrations. `no` if something is due, the database is newer, or another
/// text was applied. With `sql`, the document has the text of the due migrations, and `no` only means a newer database.
/// Changes nothing. Throws database errors.
Answer look_at_migrations(inbox::Connection& connection, const std::string& schema, bool sql);

}  // namespace inboxd::operations
