// Calls inside transactions: some calls, what became of their events, COMMIT; or none of it, and again.
#include <algorithm>
#include <string>
#include <utility>

#include "dispatcher/worker.hpp"

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

/// No transaction is kept open for further calls after so long: others wait for what it has locked.
constexpr milliseconds open_for{250};
/// Savepoints cost as much as small statements. So the calls of a group get some only after a call failed, for so many
/// groups.
constexpr int careful_groups = 32;

plugin::Verdict failure(std::string error_class, std::string message) {
  return {plugin::Verdict::Kind::retry, std::nullopt, std::move(error_class), std::move(message)};
}

/// A statement was ended at the call's deadline, or for somebody's patience, and was not rolled back.
bool ran_out_of_time(const inbox::CallEnd& end) { return end.unresolved && end.unresolved->sqlstate == "57014"; }

/// Where it was lost with its connection.
Why why_lost(const inbox::CallEnd& end) {
  if (end.was_cut_off) return Why::cut_off;
  return end.lost_in_statement ? Why::in_statement : Why::away;
}

}  // namespace

/// All of the chunk, transaction by transaction.
void Worker::run_transactions() {
  InVain tries;
  // So many events go one by one, because nobody knows whose fault it was when they went together.
  std::size_t singly = 0;
  for (;;) {
    GroupEnd end = run_group(singly > 0);
    untold_.clear();  // those that are not told by now were undone
    aftermath_.reset();
    if (end == GroupEnd::repeat && tries.note(why_)) end = singly > 0 ? charge_culprit() : GroupEnd::split;
    if (end == GroupEnd::nothing || end == GroupEnd::given_up) break;
    if (end == GroupEnd::again) continue;
    if (end == GroupEnd::done) {
      tries = {};
      trouble_.worked();
      if (singly > 0) --singly;
      if (careful_ > 0) --careful_;
    } else if (end == GroupEnd::split) {
      singly = std::max(singly, undone_events_);
      tries = {};
    } else if (!wait_after(tries)) {
      break;
    }
  }
  put_back_all();
}

/// Some calls and their COMMIT. After `repeat` and `split` nothing of it has happened, and the chunk is where it was.
Worker::GroupEnd Worker::run_group(bool one_event) {
  const int most_calls = one_event ? 1 : share_->group;
  const std::size_t most_events = one_event ? 1 : share_->events_per_call;
  int calls = 0;
  std::size_t events = 0;
  const auto began = call_began_ = Clock::now();  // what COMMIT and waiting took is no call's time
  while (calls < most_calls && (calls == 0 || Clock::now() - began < open_for) && begin_call(most_events)) {
    const Step step = call_in_transaction(most_calls == 1 || careful_ == 0, calls == 0);
    if (step == Step::given_up) return GroupEnd::given_up;
    if (step == Step::repeat) return undo_group(GroupEnd::repeat, events);
    if (step == Step::split) return undo_group(GroupEnd::split, events);
    if (step == Step::carefully) {
      careful_ = careful_groups;
      return undo_group(GroupEnd::again, events);
    }
    ++calls;
    events += delivered_.size();
    if (step == Step::called_last) break;
  }
  return calls == 0 ? GroupEnd::nothing : commit(events);
}

/// `events`: of its calls but the last.
Worker::GroupEnd Worker::undo_group(GroupEnd end, std::size_t events) {
  undone_events_ = events + delivered_.size();
  {
    const std::lock_guard lock{mutex_};
    calling_ = false;  // the call is over; what rolling back takes is not its time
  }
  transaction_->roll_back();
  const std::lock_guard lock{mutex_};
  if (abandoned_) return GroupEnd::given_up;
  chunk_.rewind();
  return end;
}

/// `alone`: it cannot be undone but with the calls before it. Where it has to be, they are all made again, with
/// savepoints.
Worker::Step Worker::call_in_transaction(bool alone, bool is_first) {
  inbox::CallFrame frame;
  frame.alone = alone;
  frame.deadline = call_began_ + share_->deadline;
  frame.events.reserve(delivered_.size());
  for (const plugin::Delivered& each : delivered_) {
    frame.events.push_back({each.event, each.topic, each.partition, each.attempt, each.has_content});
  }
  transaction_->begin_call(std::move(frame));
  ask();
  const inbox::CallEnd end = transaction_->end_call();
  const auto duration = note_time();
  if (end.must_repeat) {
    note_why(end.unresolved, why_lost(end));
    return Step::repeat;
  }
  // Not every call is looked at, so it may have been an earlier call of the transaction, or any event of this one:
  // whose doing it was shows when the events go one by one.
  if (end.misdeed && (delivered_.size() > 1 || !is_first)) return Step::split;
  if (ran_out_of_time(end) && delivered_.size() > 1) {
    share_->log->warn("dispatcher: a call of several events did not end within its deadline, they go one by one",
                      {{"handler", share_->handler}, {"events", delivered_.size()}});
    return Step::split;
  }
  if (!judge_call(end)) {
    if (alone && !is_first && end.ran) return Step::carefully;
    if (!alone || is_first) transaction_->undo_call();
  }
  if (aftermath_) untold_.push_back({std::move(aftermath_), verdicts_});
  if (!end_call(duration)) return Step::given_up;
  return end.lingers ? Step::called_last : Step::called;
}

/// What the verdicts are worth after what the call did; whether what it wrote stays.
bool Worker::judge_call(const inbox::CallEnd& end) {
  if (end.misdeed) {
    verdicts_.assign(delivered_.size(), failure("sql.session", "the handler " + *end.misdeed));
    return false;
  }
  if (end.unresolved) {
    for (plugin::Verdict& verdict : verdicts_) {
      if (verdict.kind != plugin::Verdict::Kind::done) continue;
      verdict = failure(
          "sql." + end.unresolved->sqlstate,
          "a statement failed and was not rolled back, although the handler said done: " + end.unresolved->message);
    }
    return false;
  }
  return std::any_of(verdicts_.begin(), verdicts_.end(),
                     [](const plugin::Verdict& verdict) { return verdict.kind == plugin::Verdict::Kind::done; });
}

/// One settlement for each run, in however many pieces of the chunk it is: other runs may lie between those.
std::vector<Worker::Recorded> Worker::gathered(std::vector<settler::Report> reports) {
  std::vector<settler::Gathering> gatherings;
  for (settler::Report& report : reports) {
    auto of_run = std::find_if(gatherings.begin(), gatherings.end(),
                               [&](const settler::Gathering& each) { return each.run() == report.run; });
    if (of_run == gatherings.end()) of_run = gatherings.emplace(of_run, report.run);
    of_run->add(std::move(report));
  }
  std::vector<Recorded> out;
  for (settler::Gathering& gathering : gatherings) {
    out.push_back({gathering.run(), gathering.take(settler::random01())});
  }
  return out;
}

Worker::GroupEnd Worker::commit(std::size_t events) {
  std::vector<settler::Report> reports;
  Chunk before;
  {
    const std::lock_guard lock{mutex_};
    before = chunk_;
    reports = chunk_.take_finished();
  }
  std::vector<Recorded> all = gathered(std::move(reports));
  std::vector<inbox::Settlement> settlements;
  for (const Recorded& each : all) settlements.push_back(each.sum.settlement);
  const inbox::CommitEnd end = settlements.empty() ? inbox::CommitEnd{} : transaction_->commit(settlements);
  if (settlements.empty()) transaction_->roll_back();
  if (end.kind == inbox::CommitEnd::Kind::committed) {
    note_committed(all);
    return GroupEnd::done;
  }
  untold_.clear();  // undone, whatever is recorded of their events now
  {
    const std::lock_guard lock{mutex_};
    chunk_ = std::move(before);
  }
  if (end.kind == inbox::CommitEnd::Kind::lost) {
    note_lost(end.lost);
    return GroupEnd::done;
  }
  note_why(end.error, end.was_in_doubt ? Why::in_commit : Why::away);
  if (events > 0) undone_events_ = events;
  const bool is_refused = end.kind == inbox::CommitEnd::Kind::refused;
  // What is refused although no handler wrote anything is the daemon's own, too.
  if (end.kind == inbox::CommitEnd::Kind::unsettled || (is_refused && events == 0)) why_ = Why::no_event;
  if (is_refused && events == 1) return charge(*end.error);
  const std::lock_guard lock{mutex_};
  chunk_.rewind();
  return is_refused && events > 1 ? GroupEnd::split : GroupEnd::repeat;
}

void Worker::note_committed(const std::vector<Recorded>& all) {
  for (const Untold& call : untold_) call.aftermath->settled(call.verdicts);
  const auto now = Clock::now();
  for (const Recorded& each : all) {
    settler::Run& run = *each.run;
    const settler::Gathered& sum = each.sum;
    run.recorded += static_cast<std::size_t>(sum.events());
    settler_.note_elsewhere(run, sum);
    for (const auto& group : sum.settlement.retries) run.holder->retry_at(now + group.delay);
    run.holder->settled(run, sum.events());
  }
}

/// A zombie's end: nothing that was written is kept. What is still ours is for anybody to do.
void Worker::note_lost(const std::vector<inbox::LeaseKey>& lost) {
  std::vector<Piece> pieces;
  {
    const std::lock_guard lock{mutex_};
    pieces = chunk_.take_unreported();
  }
  share_->log->warn("dispatcher: leases were lost, what the handler wrote for their events is rolled back",
                    {{"handler", share_->handler}, {"deliveries", lost.size()}});
  const auto is_lost = [&](const Piece& piece) {
    return std::find(lost.begin(), lost.end(), piece.run->lease.key) != lost.end();
  };
  for (const Piece& piece : pieces) {
    if (!is_lost(piece) || piece.run->lost.exchange(true)) continue;
    settler_.note_lost_elsewhere(*piece.run);
    piece.run->holder->lost(*piece.run);
  }
  std::erase_if(pieces, is_lost);
  share_->in_hand->put_back(std::move(pieces));
}

/// The chunk's end: what no call came to, and what was interrupted, is for others.
void Worker::put_back_all() {
  std::vector<Piece> rest;
  {
    const std::lock_guard lock{mutex_};
    if (abandoned_) return;
    rest = chunk_.take_unreported();
    for (Piece& piece : chunk_.take_rest()) rest.push_back(std::move(piece));
    chunk_ = Chunk{};
  }
  share_->in_hand->calls().add(calls_);
  share_->in_hand->put_back(std::move(rest));
}

}  // namespace inboxd::dispatcher
