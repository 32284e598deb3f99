#pragma once
#include <chrono>

#include "inbox/generations.hpp"
#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// Freezes the ledger's current generation, which has ids.
inline bool freeze(Inbox& inbox) {
  inbox.database().run(
      "update inbox.ledger_generation set began_at = now() - interval '1 year' where frozen_at is null");
  return inbox::freeze_generation(inbox.connection(), 0, std::chrono::hours{24});
}

/// As if all frozen generations had been frozen three days ago.
inline void make_generations_old(Inbox& inbox) {
  inbox.database().run(
      "update inbox.ledger_generation set frozen_at = now() - interval '3 days' where frozen_at is not null");
}

/// Drops a generation past a retention of a day.
inline inbox::DroppedGeneration drop_old(Inbox& inbox) {
  make_generations_old(inbox);
  return inbox::drop_generation(inbox.connection(), std::chrono::hours{24});
}

}  // namespace inboxd::support
