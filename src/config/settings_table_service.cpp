// The settings of outbox, admin, tracing, retention, log, shutdown and liveness.
#include "config/settings_table_rows.hpp"

namespace inboxd::config {
namespace {

using namespace rows;

void add_outbox(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::outbox, member));
  };
  add(flag("outbox.relay",
           "Whether this instance may send the messages of the outbox. A single instance at a time does, and another "
           "takes over. false in all instances: messages stay in the database."),
      &Outbox::relay);
  add(example("[mail, \"billing.*\"]",
              names("outbox.topics",
                    "The topics that may be sent to, exact or as a prefix (billing.*); none: all. Topics for dead "
                    "letters are always allowed. Messages for other topics wait like messages for an unknown topic.")),
      &Outbox::topics);
  add(shaped(name("outbox.id_header",
                  "The header with the id of a sent message. Another inbox finds id by itself; for CloudEvents use "
                  "ce_id."),
             "^[!-~]{1,200}$", "a header's name without spaces"),
      &Outbox::id_header);
  add(number("outbox.batch", 1, 100'000, "The most messages that the relay reads at once."), &Outbox::batch);
  add(size("outbox.batch_bytes", 64 * kibibyte, gibibyte,
           "The most bytes that the relay reads at once; the last message may exceed it."),
      &Outbox::batch_bytes);
  add(number("outbox.in_flight_messages", 1, 1'000'000,
             "The most messages in memory that the brokers have not acknowledged."),
      &Outbox::in_flight_messages);
  add(size("outbox.in_flight_bytes", 64 * kibibyte, gibibyte, "The most bytes in memory that the brokers have not "
                                                              "acknowledged; a batch may exceed it."),
      &Outbox::in_flight_bytes);
  add(size("outbox.message_bytes", 64 * kibibyte, gibibyte,
           "The most bytes of key, payload and headers that publish accepts. Topics need a max.message.bytes of this "
           "much and about 1 KiB. The instance that sends sets it for all."),
      &Outbox::message_bytes);
  add(duration("outbox.lease", second, hour,
               "How long the relay's right to send lasts without renewal, and so how long a crash can delay messages."),
      &Outbox::lease);
  add(duration("outbox.retry", second, day,
               "How long after an unknown or forbidden topic the relay tries its messages again."),
      &Outbox::retry);
  add(duration("outbox.stalled_after", second, hour,
               "How long brokers may answer without acknowledging a message; then its topic waits, so that others are "
               "sent."),
      &Outbox::stalled_after);
  add(duration("outbox.poll", 1, minute,
               "How often the relay looks for messages of other processes while there are some."),
      &Outbox::poll);
  add(duration("outbox.poll_idle", 1, minute, "The longest time between two looks, doubled from outbox.poll while "
                                              "there are no messages."),
      &Outbox::poll_idle);
}

void add_admin(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::admin, member));
  };
  add(shaped(name("admin.listen",
                  "The HTTP address of health checks, metrics and operations; off: none. Health checks (/livez, "
                  "/readyz, /startupz) need no token; for the rest see admin.read."),
             R"(^(off|[^][/: ]+:[0-9]{1,5}|\[[0-9a-fA-F:.]+\]:[0-9]{1,5})$)",
             "HOST:PORT such as 127.0.0.1:9470, or off"),
      &Admin::listen);
  add(example("/run/inboxd/admin.sock",
              shaped(name("admin.socket",
                          "A Unix socket that serves the same, open to its file's user and group; none: no socket. The "
                          "command line uses it instead of admin.listen."),
                     "^/.{1,106}$", "an absolute path of at most 107 bytes")),
      &Admin::socket);
  add(choice("admin.read", {"loopback", "token"},
             "Access to metrics and reads. loopback: this machine needs no token, except for the configuration, "
             "payloads and slow searches (check, events, dead, quarantine). token: every read needs a token; use this "
             "with a service mesh, or a proxy on this machine that sends no Forwarded, X-Forwarded-For or Via: its "
             "requests come from a loopback address."),
      &Admin::read);
  add(example("{file: /run/secrets/inboxd-admin}",
              plain("admin.token", Type::secret,
                    "The bearer token for every operation, from any machine; none: no changes over this port. "
                    "Without admin.tls the command line sends it only to addresses of this machine.")),
      &Admin::token);
  add(example("{file: /run/secrets/inboxd-admin-read}",
              plain("admin.read_token", Type::secret,
                    "The bearer token for metrics and reads from any machine, such as for Prometheus; it allows no "
                    "changes and must differ from admin.token.")),
      &Admin::read_token);
  add(choice("admin.ui", {"auto", "off", "read-only", "full"},
             "The page for operators at admin.listen, and the rights of the link that `inboxd ui` prints. auto: full "
             "with admin.token, else read-only. A token has its own rights on the page."),
      &Admin::ui);
  const auto add_actor = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::admin, &Admin::actor_header, member));
  };
  add_actor(example("x-forwarded-user",
                    shaped(name("admin.actor_header.name",
                                "The header in which a proxy before the port names the person who asks; the audit has "
                                "this name. Ignored from other addresses than admin.actor_header.from."),
                           "^[a-z0-9-]{1,60}$", "a header's name in lower case")),
            &ActorHeader::name);
  add_actor(example("[10.0.0.0/8]", names("admin.actor_header.from", "The addresses or networks of the proxy.")),
            &ActorHeader::from);
  add(example("[inboxd.internal]",
              shaped(names("admin.hosts",
                           "Host names under which the port answers, in addition to localhost and addresses; requests "
                           "for other names are refused, against DNS rebinding by web pages."),
                     "^[a-zA-Z0-9.-]{1,253}$", "a host name, without a port")),
      &Admin::hosts);
  const auto add_tls = [&](const char* example_file, Description about, auto member) {
    about = shaped(example(example_file, std::move(about)), "^/.*$", "an absolute path");
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::admin, &Admin::tls, member));
  };
  add_tls("/etc/inboxd/admin.pem",
          name("admin.tls.certificate",
               "A PEM file with the port's certificate, followed by intermediate ones: admin.listen serves https in "
               "place of http. admin.socket stays without TLS. A new connection uses the files as they are then, so a "
               "renewed certificate needs no restart; files that do not fit each other leave the old ones in use."),
          &PortTls::certificate);
  add_tls("/etc/inboxd/admin.key", name("admin.tls.key", "A PEM file with the key of admin.tls.certificate."),
          &PortTls::key);
  add_tls("/etc/inboxd/clients.pem",
          name("admin.tls.client_ca",
               "A PEM file with certificate authorities: clients of admin.listen need a certificate from one of them, "
               "also for health checks; none: they need no certificate. The command line shows admin.tls.certificate, "
               "which is always accepted."),
          &PortTls::client_ca);
  add(number("admin.connections", 4, 1'000,
             "The most connections to the port; a further connection closes the connection that has been idle "
             "longest."),
      &Admin::connections);
  add(number("admin.queue", 1, 1'000,
             "The most requests with a token, and as many without, that wait for each of the two worker threads; a "
             "further request gets 503 and Retry-After. A request leaves the queue when its connection closes."),
      &Admin::queue);
  add(size("admin.header_limit", kibibyte, mebibyte, "The most bytes of a request before its body."),
      &Admin::header_limit);
  add(size("admin.body_limit", kibibyte, 64 * mebibyte, "The most bytes of a request's body."), &Admin::body_limit);
  add(duration("admin.receive_timeout", 100, minute, "How long a request may take to arrive."),
      &Admin::receive_timeout);
  add(duration("admin.answer_timeout", second, hour,
               "How long an operation may take, and then the client to read the answer."),
      &Admin::answer_timeout);
  add(duration("admin.idle_timeout", second, hour, "How long a connection stays open between two requests."),
      &Admin::idle_timeout);
  add(number("admin.plans", 1, 100,
             "How many dry runs over HTTP are remembered, for the changes that name them as plan; a further one "
             "replaces the oldest. One takes up to 16 MB, with a million rows."),
      &Admin::plans);
  add(duration("admin.plan_age", second, day, "How long a dry run is remembered; then repeat it."), &Admin::plan_age);
}

void add_tracing(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::tracing, member));
  };
  add(example("http://127.0.0.1:4318/v1/traces",
              shaped(text("tracing.endpoint", Exposure::addresses,
                          "Where to send spans (OTLP, JSON over HTTP), best a collector on the daemon's host; none: no "
                          "traces, at no cost."),
                     R"(^http://([^][/: ]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[^ ]*)?$)",
                     "an http:// address such as http://127.0.0.1:4318/v1/traces; for https, run a collector on the "
                     "daemon's host")),
      &Tracing::endpoint);
  add(example("{file: /run/secrets/collector}",
              plain("tracing.authorization", Type::secret,
                    "The Authorization header for the collector, such as Bearer TOKEN; sent unencrypted, without "
                    "TLS.")),
      &Tracing::authorization);
  add(choice("tracing.relation", {"link", "parent"},
             "How spans relate to the producer's trace. link: each event has a trace of its own, with the event's id "
             "as trace id and a link to the producer's; parent: spans join the producer's trace."),
      &Tracing::relation);
  add(ranged(Type::fraction, "tracing.sample", 0, 1,
             "The share of events without a trace context that get a trace; other events follow their sampled flag."),
      &Tracing::sample);
  add(number("tracing.queue", 64, 1'000'000, "The most spans that wait for the collector; more are dropped."),
      &Tracing::queue);
  add(name("tracing.service", "The service name in traces."), &Tracing::service);
}

void add_retention(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(std::move(about), &Settings::retention, member));
  };
  add(keep("retention.events", "How long events are kept; pending events stay until they are settled."),
      &Retention::events);
  add(keep("retention.ledger", "How long an event's id is remembered, to absorb resends."), &Retention::ledger);
  add(keep("retention.outcomes", "How long the outcomes of deliveries are kept."), &Retention::outcomes);
  add(keep("retention.failures", "How long failed attempts are kept."), &Retention::failures);
  add(keep("retention.dead_letters", "How long dead letters are kept."), &Retention::dead_letters);
  add(keep("retention.quarantine", "How long quarantined records are kept."), &Retention::quarantine);
  constexpr std::int64_t pebibyte = mebibyte * gibibyte;
  add(size("retention.dead_letter_bytes", mebibyte, pebibyte,
           "The most bytes of dead letters. `status` and the log warn from 80 %; at the limit handlers with new dead "
           "letters are paused, until some are discarded or replayed."),
      &Retention::dead_letter_bytes);
  add(size("retention.quarantine_bytes", mebibyte, pebibyte,
           "The most bytes of quarantined records. `status` and the log warn from 80 %; at the limit a partition "
           "halts at its next record for quarantine, until some are discarded or retried."),
      &Retention::quarantine_bytes);
}

void add_ledger(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::ledger, member));
  };
  add(number("ledger.generation_ids", 0, 1'000'000'000,
             "The event ids of a generation: once the newest has so many, another begins, and the former is only "
             "looked up. 0: as many as a quarter of the server's shared_buffers can index. At least a 128th of all."),
      &Ledger::generation_ids);
  add(size("ledger.filter_bytes", 0, std::int64_t{64} << 30,
           "The most memory for the filters that tell which ids a former generation cannot have: 2.4 bytes for each "
           "id. Without its filter a generation is looked up for each event."),
      &Ledger::filter_bytes);
}

void add_process(std::vector<Row<Settings>>& rows) {
  rows.push_back(
      row<Settings>(choice("log.level", {"debug", "info", "warn", "error"}, "The lowest level that is written."),
                    &Settings::log, &Log::level));
  rows.push_back(
      row<Settings>(choice("log.format", {"auto", "text", "json", "journal"},
                           "The format of lines. journal: journald entries with a field for each fact (EVENT_ID=, "
                           "HANDLER=, TOPIC=) and a MESSAGE_ID= for each kind; auto: journal under systemd, text on a "
                           "terminal, else json."),
                    &Settings::log, &Log::format));
  rows.push_back(row<Settings>(
      duration("shutdown.drain", 0, hour,
               "How long running calls may take to finish at a stop; the daemon ends about three seconds later at the "
               "latest."),
      &Settings::drain));
  rows.push_back(row<Settings>(
      restart(duration("liveness.grace", second, hour,
                       "How long beyond database.deadline a loop may stall before /livez fails and systemd's watchdog "
                       "gets no heartbeat, so that the process is killed. Reconnecting to the database counts towards "
                       "it.")),
      &Settings::liveness_grace));
}

}  // namespace

void add_service_rows(Table& table) {
  add_outbox(table.settings);
  add_admin(table.settings);
  add_tracing(table.settings);
  add_retention(table.settings);
  add_ledger(table.settings);
  add_process(table.settings);
}

}  // namespace inboxd::config
