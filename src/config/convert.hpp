#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "config/environment.hpp"
#include "config/finding.hpp"
#include "config/settings_table.hpp"
#include "config/tree.hpp"

namespace inboxd::config {

/// The keys of a file, with their places. Cross checks skip keys that have a problem.
class Mentioned final {
 public:
  void note(const std::string& key, Place place) { places_.emplace(key, place); }
  void note_text(const std::string& key, TextPlace place) { texts_.emplace(key, place); }
  /// The value of the key came from a form of a secret.
  void note_secret(const std::string& key, Secret secret) { secrets_.emplace(key, std::move(secret)); }
  void spoil(const std::string& key) { spoilt_.insert(key); }

  bool has(const std::string& key) const { return places_.contains(key); }
  /// Also true if an enclosing key has a problem.
  bool is_spoilt(std::string key) const;
  /// The place of the key, else of the nearest enclosing key in the file.
  Place nearest(std::string key) const;
  const std::map<std::string, Place>& places() const { return places_; }
  const std::map<std::string, TextPlace>& texts() const { return texts_; }
  const Secrets& secrets() const { return secrets_; }

 private:
  std::map<std::string, Place> places_;
  std::map<std::string, TextPlace> texts_;  ///< of plugins' settings
  Secrets secrets_;
  std::set<std::string> spoilt_;
};

/// The context of a conversion.
struct Reading {
  const Environment& environment;
  Findings& findings;
  Mentioned& mentioned;

  void problem(Place place, const std::string& key, std::string sentence) {
    mentioned.spoil(key);
    findings.problem(place, key, std::move(sentence));
  }
};

/// The value of the node under `key`, checked against the key's description; nullopt after a problem.
std::optional<Value> convert(const Description& about, const Node& node, const std::string& key, Reading& reading);

}  // namespace inboxd::config
