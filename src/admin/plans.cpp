#include "admin/plans.hpp"

#include <utility>

#include "base/uuid.hpp"

namespace inboxd::admin {

void Plans::drop_old(Clock::time_point now) {
  while (!plans_.empty() && plans_.front().kept_at + max_age_ <= now) plans_.pop_front();
}

std::string Plans::keep(const std::string& change, operations::Document plan, Clock::time_point now) {
  Plan kept{base::random_uuid().text(), change, std::make_shared<const operations::Document>(std::move(plan)), now};
  std::string name = kept.name;
  const base::Lock lock{mutex_};
  drop_old(now);
  plans_.push_back(std::move(kept));
  while (plans_.size() > max_plans_) plans_.pop_front();
  return name;
}

std::shared_ptr<const operations::Document> Plans::find(const std::string& name, const std::string& change,
                                                        Clock::time_point now) {
  const base::Lock lock{mutex_};
  drop_old(now);
  for (const Plan& plan : plans_) {
    if (plan.name == name && plan.change == change) return plan.document;
  }
  return nullptr;
}

}  // namespace inboxd::admin
