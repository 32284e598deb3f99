#include "config/load.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "config/checks.hpp"
#include "config/convert.hpp"
#include "config/database_url.hpp"
#include "config/secrets.hpp"
#include "config/suggest.hpp"
#include "config/settings_table.hpp"
#include "config/tree.hpp"

namespace inboxd::config {
namespace {

constexpr std::size_t max_topics = 1'000;
constexpr std::size_t max_handlers = 1'000;

bool is_list_key(const std::string& key) { return key == "topics" || key == "handlers" || key == "handler_defaults"; }

/// The names that may follow `prefix` ("", "retry.") in the keys of these rows.
template <class Owner>
Texts names_below(const std::vector<Row<Owner>>& rows, const std::string& prefix) {
  Texts out;
  for (const Row<Owner>& row : rows) {
    if (!row.about.key.starts_with(prefix)) continue;
    std::string name = row.about.key.substr(prefix.size());
    name.resize(std::min(name.find('.'), name.size()));
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

/// Walks the tree along the table: a row converts a value, a group is descended into, any other key is unknown.
class Loader final {
 public:
  Loader(const Environment& environment, Findings& findings) : reading_{environment, findings, mentioned_} {}

  Settings load(const Node& document) {
    Settings settings;
    if (document.kind == Node::Kind::refused) return settings;
    if (document.kind != Node::Kind::map && document.kind != Node::Kind::nothing) {
      reading_.problem(document.place, "", "the file must hold keys such as database, kafka, topics and handlers");
      return settings;
    }
    Texts names = names_below(table_.settings, "");
    names.insert(names.end(), {"topics", "handlers", "handler_defaults"});
    read_group(document, "", "", table_.settings, settings, names);
    read_list(document, "topics", max_topics, [&](const Node& item, const std::string& key) {
      settings.topics.emplace_back();
      read_owner(item, key, table_.topics, settings.topics.back());
    });
    Handler common;
    if (const Node* const node = find(document, "handler_defaults")) {
      read_owner(*node, "handler_defaults", table_.handler_defaults(), common, false);
      take_secrets("handler_defaults", common);
    }
    read_list(document, "handlers", max_handlers, [&](const Node& item, const std::string& key) {
      settings.handlers.push_back(common);
      read_owner(item, key, table_.handlers, settings.handlers.back());
      take_secrets(key, settings.handlers.back());
      require(key + ".subscribe",
              "missing; add for example 'subscribe: {topics: [orders]}', or {} for everything");
      raise_cap(key, settings.handlers.back().retry);
      apply_mode(key, settings.handlers.back());
      note_order(key, settings.handlers.back());
    });
    const bool all_local =
        std::ranges::all_of(settings.topics, [](const auto& each) { return each.source == Source::local; });
    may_lack_kafka_ = all_local && !settings.topics.empty() && !mentioned_.has("kafka");
    require_rows(table_.settings, "");
    if (!settings.has_brokers()) settings.outbox.relay = settings.outbox.relay && mentioned_.has("outbox.relay");
    move_password(settings);
    for (const auto& [name, text] : settings.kafka.properties) {
      const auto secret = mentioned_.secrets().find("kafka.properties." + name);
      if (secret != mentioned_.secrets().end()) settings.kafka.secrets[name] = secret->second;
    }
    auto& beyond = settings.database.connecting_beyond_deadline;
    beyond = std::min(beyond, settings.liveness_grace * 3 / 4);
    check_together(settings, reading_);
    return settings;
  }

  std::map<std::string, Origin> origins(const Settings& settings) const {
    std::map<std::string, Origin> out;
    for (const auto& [key, place] : mentioned_.places()) out[key] = {Origin::From::file, place};
    for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
      for (const Row<Handler>& row : table_.handlers) {
        const auto common = out.find("handler_defaults." + row.about.key);
        const bool is_of_batch = settings.handlers[i].mode == Mode::batch &&
                                 (row.about.key == "events_per_call" || row.about.key == "group");  // apply_mode
        if (common == out.end() || is_of_batch) continue;
        out.emplace("handlers[" + std::to_string(i) + "]." + row.about.key,
                    Origin{Origin::From::handler_defaults, common->second.place});
      }
    }
    return out;
  }

  const std::map<std::string, TextPlace>& texts() const { return mentioned_.texts(); }
  const Secrets& secrets() const { return mentioned_.secrets(); }

 private:
  /// Notes which values of the handler came from forms, under their keys within it: `settings.url`.
  void take_secrets(const std::string& key, Handler& handler) {
    const std::string prefix = key + ".";
    for (const auto& [place, secret] : mentioned_.secrets()) {
      if (place.starts_with(prefix)) handler.secrets[place.substr(prefix.size())] = secret;
    }
  }

  static const Node* find(const Node& map, const std::string& key) {
    const auto found = std::ranges::find(map.entries, key, &Entry::key);
    return found == map.entries.end() ? nullptr : &found->value;
  }

  template <class Owner>
  void read_group(const Node& map, const std::string& path, const std::string& prefix,
                  const std::vector<Row<Owner>>& rows, Owner& owner, const Texts& names) {
    for (const Entry& entry : map.entries) {
      const std::string key = path.empty() ? entry.key : path + "." + entry.key;
      const std::string inner = prefix + entry.key;
      const auto row = std::ranges::find(rows, inner, [](const Row<Owner>& each) { return each.about.key; });
      if (entry.key.find('.') != std::string::npos) {
        reading_.problem(entry.place, key, "unknown key; nest keys instead of writing dots: 'log: {level: info}'");
      } else if (row != rows.end()) {
        mentioned_.note(key, entry.place);
        if (const auto value = convert(row->about, entry.value, key, reading_)) row->set(owner, *value);
      } else if (path.empty() && is_list_key(entry.key)) {
        mentioned_.note(key, entry.place);
      } else if (const Texts below = names_below(rows, inner + "."); !below.empty()) {
        mentioned_.note(key, entry.place);
        if (is_group(entry.value, key, below)) read_group(entry.value, key, inner + ".", rows, owner, below);
      } else {
        refuse(entry, key, names);
      }
    }
  }

  /// A topic or handler: its keys, then its missing keys.
  template <class Owner>
  void read_owner(const Node& node, const std::string& key, const std::vector<Row<Owner>>& rows, Owner& owner,
                  bool is_whole = true) {
    const Texts names = names_below(rows, "");
    if (is_group(node, key, names)) read_group(node, key, "", rows, owner, names);
    if (is_whole) require_rows(rows, key + ".");
  }

  template <class Read>
  void read_list(const Node& document, const std::string& key, std::size_t most, Read read) {
    const Node* const list = find(document, key);
    const bool is_list = list != nullptr && list->kind == Node::Kind::list;
    if (list == nullptr || list->kind == Node::Kind::nothing || (is_list && list->items.empty())) {
      reading_.problem(mentioned_.nearest(key), key,
                       "none configured; at least one is required (see inboxd.minimal.yaml)");
    } else if (is_list && list->items.size() > most) {
      reading_.problem(list->place, key, "more than " + std::to_string(most) + " entries");
    } else if (is_list) {
      for (std::size_t i = 0; i < list->items.size(); ++i) {
        const std::string item_key = key + "[" + std::to_string(i) + "]";
        mentioned_.note(item_key, list->items[i].place);
        read(list->items[i], item_key);
      }
    } else if (list->kind != Node::Kind::refused) {
      reading_.problem(list->place, key, "must be a list: each entry begins with '- '");
    }
  }

  /// Whether the node has keys. A group with every key commented out is empty, not wrong.
  bool is_group(const Node& node, const std::string& key, const Texts& names) {
    if (node.kind == Node::Kind::map) return true;
    if (node.kind == Node::Kind::refused) mentioned_.spoil(key);
    if (node.kind == Node::Kind::scalar || node.kind == Node::Kind::list) {
      reading_.problem(node.place, key, "must hold keys: " + base::joined(names));
    }
    return false;
  }

  void refuse(const Entry& entry, const std::string& key, const Texts& names) {
    std::string sentence = "unknown key";
    const std::string elsewhere = home_of(entry.key);
    const bool is_of_handler = key.starts_with("handlers[") && std::ranges::count(key, '.') == 1;
    if (const std::string near = did_you_mean(entry.key, names); !near.empty()) {
      sentence += near;
    } else if (is_of_handler && !elsewhere.starts_with("handlers[]")) {
      sentence += " here; a setting of the plugin belongs in settings";
    } else if (!elsewhere.empty()) {
      sentence += " here; it belongs in " + elsewhere;
    } else {
      sentence += "; known keys: " + base::joined(names);
    }
    reading_.problem(entry.place, key, sentence);
  }

  /// The group that knows a key of that name; empty if several groups do.
  std::string home_of(const std::string& name) const {
    Texts homes;
    const auto search = [&](const auto& rows, const std::string& prefix) {
      for (const auto& row : rows) {
        const std::string key = prefix + row.about.key;
        if (key.ends_with("." + name)) homes.push_back(key.substr(0, key.size() - name.size() - 1));
      }
    };
    search(table_.settings, "");
    search(table_.topics, "topics[].");
    search(table_.handlers, "handlers[].");
    return homes.size() == 1 ? homes.front() : std::string{};
  }

  template <class Owner>
  void require_rows(const std::vector<Row<Owner>>& rows, const std::string& path) {
    for (const Row<Owner>& row : rows) {
      if (!row.about.is_required || (may_lack_kafka_ && row.about.key.starts_with("kafka."))) continue;
      const std::string name = row.about.key.substr(row.about.key.rfind('.') + 1);
      require(path + row.about.key, "missing; add for example '" + name + ": " + row.about.example + "'");
    }
  }

  void require(const std::string& key, const std::string& sentence) {
    if (mentioned_.has(key) || mentioned_.is_spoilt(key)) return;
    reading_.problem(mentioned_.nearest(key), key, sentence);
  }

  /// The default of retry.cap is never shorter than retry.base.
  void raise_cap(const std::string& handler_key, Retry& retry) const {
    if (mentioned_.has(handler_key + ".retry.cap") || mentioned_.has("handler_defaults.retry.cap")) return;
    retry.cap = std::max(retry.cap, retry.base);
  }

  void note_order(const std::string& handler_key, Handler& handler) const {
    for (const char* const name : {".order_by", ".missing_key"}) {
      if (mentioned_.has(handler_key + name) || mentioned_.has(std::string{"handler_defaults"} + name)) {
        handler.chose_order = true;
      }
    }
  }

  /// A call of a batch handler has a transaction to itself. Calls follow each other, unless the handler asks for more.
  void apply_mode(const std::string& handler_key, Handler& handler) const {
    if (handler.mode != Mode::batch) return;
    const bool asks = mentioned_.has(handler_key + ".concurrency") || mentioned_.has("handler_defaults.concurrency");
    if (!asks) handler.concurrency = 1;
    handler.events_per_call = handler.batch.max_events;
    handler.group = 1;
  }

  /// The URL is shown and logged, so the password must leave it.
  void move_password(Settings& settings) {
    const std::string key = "database.url";
    if (settings.database.url.empty()) return;
    auto split = split_password(settings.database.url);
    if (!split) return reading_.problem(mentioned_.nearest(key), key, split.problem().message);
    settings.database.url = std::move(split.value().url);
    if (!split.value().password) return;
    if (mentioned_.has("database.password")) {
      return reading_.problem(mentioned_.nearest(key), key,
                              "the URL holds a password in addition to database.password; remove it from the URL");
    }
    mentioned_.note("database.password", mentioned_.nearest(key));
    const auto form = mentioned_.secrets().find(key);
    const bool is_from_form = form != mentioned_.secrets().end();
    settings.database.password =
        Secret{*split.value().password, is_from_form ? form->second.file() : std::string{}, Secret::File::url};
    if (is_from_form) return;
    reading_.findings.warning(mentioned_.nearest(key), key,
                              "the URL holds the password in plain text; use database.password: {file: /path}");
  }

  Table table_ = settings_table();
  Mentioned mentioned_;
  Reading reading_;
  bool may_lack_kafka_ = false;
};

Loaded unreadable(const std::string& path, const std::string& reason) {
  Findings findings{path};
  findings.problem({}, "", "the file cannot be read: " + reason);
  Loaded out;
  out.file = path;
  out.problems = findings.problems();
  return out;
}

}  // namespace

Loaded load_text(std::string_view text, const std::string& file, const Environment& environment) {
  Findings findings{file};
  Loaded out;
  out.file = file;
  const auto document = parse_tree(text, findings);
  if (document) {
    Environment here = environment;
    std::error_code ignored;
    // A pipe has no folder of its own.
    const bool is_pipe = std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
    if (!is_pipe) here.folder = std::filesystem::path{file}.parent_path();
    Loader loader{here, findings};
    out.settings = loader.load(*document);
    const auto& topics = out.settings.topics;
    const bool any = std::any_of(topics.begin(), topics.end(),
                                 [](const Topic& topic) { return topic.unwrap != Unwrap::automatic; });
    for (Handler& handler : out.settings.handlers) handler.unwrapped = any ? topics : std::vector<Topic>{};
    out.origins = loader.origins(out.settings);
    out.texts = loader.texts();
    out.secrets = loader.secrets();
  }
  out.text = text;
  out.problems = findings.problems();
  out.warnings = findings.warnings();
  return out;
}

std::string without_secrets(std::string text, const Loaded& loaded) {
  constexpr std::size_t shortest = 4;  // a shorter secret is part of many words
  for (const auto& [key, secret] : loaded.secrets) {
    const std::string& hides = secret.reveal();
    if (hides.size() < shortest) continue;
    for (auto at = text.find(hides); at != std::string::npos; at = text.find(hides, at + hidden.size())) {
      text.replace(at, hides.size(), hidden);
    }
  }
  return text;
}

std::string place_of_setting(const Loaded& loaded, std::size_t handler, const std::string& setting, int line,
                             int column) {
  const std::string own = "handlers[" + std::to_string(handler) + "]";
  Place place;
  if (const auto text = loaded.texts.find(own + ".settings." + setting); text != loaded.texts.end()) {
    place = text->second.at(line, column);
  } else if (const auto settings = loaded.origins.find(own + ".settings"); settings != loaded.origins.end()) {
    place = settings->second.place;
  } else if (const auto around = loaded.origins.find(own); around != loaded.origins.end()) {
    place = around->second.place;
  }
  if (place.line == 0) return loaded.file;
  return loaded.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

Loaded load_file(const std::string& path, const Environment& environment) {
  auto text = read_file(path, largest_file);
  if (!text) return unreadable(path, text.problem().message);
  return load_text(text.value(), path, environment);
}

}  // namespace inboxd::config
