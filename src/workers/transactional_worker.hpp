#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "event/verdict.hpp"
#include "plugin/instance.hpp"
#include "settler/database_backoff.hpp"
#include "settler/settlement.hpp"
#include "transaction/handler_transaction.hpp"
#include "workers/transaction_retry.hpp"
#include "workers/worker.hpp"

namespace inboxd::dispatcher {

/// A worker of a handler that needs SQL. It calls the handler in transactions, and does not report verdicts but records
/// them itself, as the last statement before COMMIT.
class TransactionalWorker final : public Worker {
 public:
  TransactionalWorker(std::shared_ptr<WorkerPoolShare> share, settler::Settler& settler);

 private:
  /// The end of a call, or of the transaction of some calls.
  enum class Ended {
    done,
    last,             ///< done; no further call may join
    repeat,           ///< undone, to run again after a wait
    split,            ///< undone, to run event by event
    again,            ///< undone, to run again at once
    with_savepoints,  ///< as again, each call with a savepoint
    nothing,          ///< there was no call
    given_up,         ///< the overseer has given it up
  };
  void prepare() override;
  void run_batch() override;
  std::vector<event::Verdict> handle(Clock::time_point deadline) override;
  void called(const CallCount& count) override;
  bool is_waiting_for_database() override { return transaction_->is_waiting(); }
  bool shares_transactions() const override { return true; }
  void cut() override { transaction_->cut(); }

  Ended run_group(bool one_event);
  Ended call_in_transaction(bool alone, bool is_first);
  bool apply_call_end(const transaction::CallEnd& end);
  /// A call's spans, which end with the transaction, and its verdicts.
  struct CallSpans {
    std::unique_ptr<plugin::PendingSpans> pending_spans;
    std::vector<event::Verdict> verdicts;
  };
  Ended commit(std::size_t events);
  Ended undo_group(Ended end, std::size_t events);
  /// A run and the part of it that a transaction settles.
  struct SettledRun {
    std::shared_ptr<settler::Run> run;
    settler::RunSettlement settlement;
  };
  static std::vector<SettledRun> settle(std::vector<settler::Report> reports);
  void note_committed(const std::vector<SettledRun>& all);
  void note_lost(const std::vector<inbox::LeaseKey>& lost);
  void put_back_all();

  // transactional_retries.cpp: sessions, and transactions that failed.
  bool has_session(const TransactionRetry& retry);
  void note_retry(const std::optional<transaction::SqlError>& error, RetryReason if_lost);
  bool is_collision() const;
  bool waited_briefly() const;
  bool note_collision();
  bool wait_after(const TransactionRetry& retry);
  bool wait_about(std::chrono::milliseconds wait);
  Ended charge_culprit(const TransactionRetry& suspected);
  Ended charge(const transaction::SqlError& error);

  const std::unique_ptr<transaction::HandlerTransaction> transaction_;

  // The thread's own.
  std::unique_ptr<plugin::PendingSpans> spans_of_call_;
  std::vector<CallSpans> pending_spans_;  ///< calls of the open transaction
  CallCount uncommitted_;  ///< its done events, and the failures since the last of them
  transaction::SqlError retry_error_;
  RetryReason retry_reason_ = RetryReason::contention;
  settler::DatabaseBackoff backoff_;                ///< for RetryReason::environment
  std::size_t undone_events_ = 0;                   ///< of the group undone last
  int savepoint_groups_ = 0;                        ///< the number of coming groups with savepoints
  std::optional<GroupLimiter::Level> group_level_;  ///< of the last transaction, if it could hold several calls
};

}  // namespace inboxd::dispatcher
