#include "consumer/member_watch.hpp"

#include <algorithm>

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr kafka::Timeout group_timeout{2'000};
constexpr auto question_interval = 5s;

}  // namespace

std::chrono::seconds MemberWatch::unjoined_limit(std::chrono::milliseconds session) {
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(3 * session), std::chrono::seconds{10s},
                    std::chrono::seconds{30s});
}

bool MemberWatch::is_stuck(std::optional<Clock::time_point> unjoined_since, std::chrono::seconds limit,
                           const std::string& member_id, Clock::time_point now) {
  if (!unjoined_since || now - *unjoined_since < question_interval) {
    missing_since_.reset();
    return false;
  }
  if (now < next_question_) return false;
  next_question_ = now + question_interval;
  if (!is_missing(member_id)) {
    missing_since_.reset();
    return false;
  }
  if (!missing_since_) missing_since_ = now;
  return now - *missing_since_ >= limit;
}

/// From a group with topics to read, which answers.
bool MemberWatch::is_missing(const std::string& member_id) const {
  const kafka::ClientSettings asking{settings_.brokers, "", "", settings_.properties_now()};
  const auto client = kafka::make_asking_client(asking);
  if (!client) return false;
  // Without a topic to read a member does not join.
  const auto topics = kafka::list_topics(client.value().get(), group_timeout);
  if (!topics) return false;
  const auto& names = topics.value();
  if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return topics_.find(name) != nullptr; })) {
    return false;
  }
  const auto members = kafka::describe_group(asking, settings_.group, group_timeout);
  if (!members) {
    log_.debug("consumer.group_not_described", {{"reason", members.problem().message}});
    return false;
  }
  return std::none_of(members.value().begin(), members.value().end(),
                      [&](const kafka::GroupMember& member) { return member.id == member_id; });
}

}  // namespace inboxd::consumer
