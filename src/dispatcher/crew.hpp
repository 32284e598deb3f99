#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "dispatcher/in_hand.hpp"
#include "dispatcher/worker.hpp"
#include "plugin/plugin.hpp"
#include "settler/settler.hpp"

namespace inboxd::dispatcher {

/// The worker threads of one handler under one configuration: a reload replaces the crew, what is in hand stays. One
/// thread at a time (the dispatcher's lock); the workers themselves are threads of their own.
class Crew final {
 public:
  Crew(std::shared_ptr<InHand> in_hand, std::shared_ptr<plugin::Instance> instance, const config::Handler& settings,
       WatchLimits limits, std::shared_ptr<Ends> ends, const inbox::TransactionFactory& transactions,
       settler::Settler& settler, base::Logger& log);
  /// Gives up calls that still run, uncharged, and transactions whose end is not known.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void start();
  /// No new calls.
  void request_stop();
  bool has_ended() const;

  /// Looks after the calls: see Worker::review. A thread that is lost is replaced, as long as not more than
  /// `concurrency` are lost; then the handler stops until some come back.
  void review(Worker::Clock::time_point now);

  /// Shutdown, past its deadline: tells running calls, and later gives them up uncharged.
  void cancel();
  void abandon();

  const std::string& name() const { return name_; }
  const std::shared_ptr<plugin::Instance>& instance() const { return share_->instance; }
  const std::shared_ptr<InHand>& in_hand() const { return share_->in_hand; }
  std::chrono::milliseconds deadline() const { return share_->deadline; }

 private:
  struct Hired {
    std::shared_ptr<Worker> worker;
    std::thread thread;
  };
  void hire();
  void dismiss(Hired& hired, Worker::Review& review);
  void fill_up();

  const std::shared_ptr<CrewShare> share_;
  const std::string name_;
  const int concurrency_;
  settler::Settler& settler_;
  base::Logger& log_;
  std::vector<Hired> workers_;
  bool stopped_ = false;                       ///< too many threads are lost
  bool is_short_ = false;                      ///< of threads: fewer workers than there should be
};

}  // namespace inboxd::dispatcher
