// Messages that a handler publishes in its transaction, under the daemon's role.
#include "inbox/answer.hpp"
#include "inbox/array_parameter.hpp"
#include "statements.hpp"
#include "transaction/database_transaction.hpp"

namespace inboxd::transaction {
namespace {

using Type = inbox::ArrayParameter::Type;
using Effect = inbox::Connection::Access::Effect;

struct Columns {
  explicit Columns(std::span<const OutboxMessage> messages) {
    for (const OutboxMessage& message : messages) {
      topics.add(message.topic);
      keys.add(message.key);
      payloads.add(message.payload);
      message.headers ? headers.add(*message.headers) : headers.add_null();
      message.id ? ids.add(*message.id) : ids.add_null();
    }
  }
  inbox::WireParameters parameters() {
    inbox::WireParameters out;
    for (inbox::ArrayParameter* const array : {&topics, &keys, &payloads, &headers, &ids}) out.add(array->finish());
    return out;
  }

  inbox::ArrayParameter topics{Type::text}, keys{Type::bytea}, payloads{Type::bytea}, headers{Type::bytea},
      ids{Type::uuid};
};

}  // namespace

std::unique_ptr<SqlResult> DatabaseTransaction::publish(std::span<const OutboxMessage> messages,
                                                        std::span<base::Uuid> ids) {
  if (auto refused = refusal()) return refused;
  facts_.end.ran = true;
  auto answer = inbox::ask([&] { return run_publish(messages, ids); });
  if (const auto* const failure = std::get_if<inbox::DatabaseFailure>(&answer)) return lost(*failure);
  return std::get<std::unique_ptr<SqlResult>>(std::move(answer));
}

std::unique_ptr<SqlResult> DatabaseTransaction::run_publish(std::span<const OutboxMessage> messages,
                                                            std::span<base::Uuid> ids) {
  Columns columns{messages};
  const bool switches = !settings_.handler_role.empty();
  std::size_t own = 0;
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(frame_.deadline - Clock::now()) + statement_grace;
  const Sent sent = send(Effect::reads, limit, true, [&](inbox::Pipeline& pipeline) {
    if (switches) add_role(pipeline, "");
    own = add_own(pipeline, inbox::statements::tx_publish, columns.parameters());
    if (switches) add_role(pipeline, settings_.handler_role);
    facts_.running = true;
  });
  facts_.running = false;
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    if (bad != sent.results[own].get()) error.will_repeat = true;
    return failed(std::move(error));
  }
  has_published_ = true;
  const PGresult* const rows = sent.results[own].get();
  for (int i = 0; i < PQntuples(rows) && static_cast<std::size_t>(i) < ids.size(); ++i) {
    ids[static_cast<std::size_t>(i)] = base::parse_uuid(PQgetvalue(rows, i, 0)).value_or(base::Uuid{});
  }
  auto result = std::make_unique<SqlResult>();
  result->affected = messages.size();
  return result;
}

}  // namespace inboxd::transaction
