#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "config/environment.hpp"
#include "config/finding.hpp"
#include "config/table.hpp"
#include "config/tree.hpp"

namespace inboxd::config {

/// The keys that a file mentions: where each stands, and which had a problem (cross checks leave those alone).
class Mentioned final {
 public:
  void note(const std::string& key, Place place) { places_.emplace(key, place); }
  void spoil(const std::string& key) { spoilt_.insert(key); }

  bool has(const std::string& key) const { return places_.contains(key); }
  /// Also where something around the key was wrong.
  bool is_spoilt(std::string key) const;
  /// Of the key itself, else of the nearest thing around it that the file has.
  Place nearest(std::string key) const;
  const std::map<std::string, Place>& places() const { return places_; }

 private:
  std::map<std::string, Place> places_;
  std::set<std::string> spoilt_;
};

/// What conversion needs beside the node.
struct Reading {
  const Environment& environment;
  Findings& findings;
  Mentioned& mentioned;

  void problem(Place place, const std::string& key, std::string sentence) {
    mentioned.spoil(key);
    findings.problem(place, key, std::move(sentence));
  }
};

/// What the node under `key` says, checked against the key's description; nullopt after a problem.
std::optional<Value> convert(const Description& about, const Node& node, const std::string& key, Reading& reading);

}  // namespace inboxd::config
