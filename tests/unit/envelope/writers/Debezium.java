// Writes records with Debezium's connector for PostgreSQL and Kafka Connect's converters, a line of JSON each: {"name",
// "headers", "key", "value"}, with bytes in hexadecimal digits. Called by make_debezium_records.py; the input is the
// address of a database: a line each for host, port and user.
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.debezium.converters.CloudEventsConverter;
import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import io.debezium.transforms.outbox.EventRouter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.HexFormat;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.storage.StringConverter;

public class Debezium {
  static final ObjectMapper mapper = new ObjectMapper();

  static JsonConverter json(boolean schemas, boolean isKey) {
    JsonConverter out = new JsonConverter();
    out.configure(Map.of("schemas.enable", schemas), isKey);
    return out;
  }

  static JsonConverter jsonHeaders(boolean schemas) {
    JsonConverter out = new JsonConverter();
    out.configure(Map.of("schemas.enable", schemas, "converter.type", "header"));
    return out;
  }

  static String hex(byte[] bytes) { return bytes == null ? null : HexFormat.of().formatHex(bytes); }

  /** As a worker of Kafka Connect converts a record. */
  static void print(String name, SourceRecord record, HeaderConverter headers, Converter keys, Converter values)
      throws Exception {
    ObjectNode out = mapper.createObjectNode().put("name", name);
    ArrayNode list = out.putArray("headers");
    for (Header header : record.headers()) {
      byte[] value = headers.fromConnectHeader(record.topic(), header.key(), header.schema(), header.value());
      list.addArray().add(header.key()).add(hex(value));
    }
    out.put("key", hex(keys.fromConnectData(record.topic(), record.keySchema(), record.key())));
    out.put("value", hex(values.fromConnectData(record.topic(), record.valueSchema(), record.value())));
    System.out.println(mapper.writeValueAsString(out));
  }

  static void printJson(String name, SourceRecord record) throws Exception {
    print("debezium_" + name, record, new SimpleHeaderConverter(), json(false, true), json(false, false));
  }

  static void printCloudEvent(String name, SourceRecord record) throws Exception {
    CloudEventsConverter converter = new CloudEventsConverter();
    converter.configure(Map.of("serializer.type", "json", "data.serializer.type", "json",
        "json.schemas.enable", false), false);
    print("cloudevent_of_" + name, record, new SimpleHeaderConverter(), json(false, true), converter);
  }

  static void printChanges(BlockingQueue<SourceRecord> records) throws Exception {
    SourceRecord insert = records.take();
    printJson("insert", insert);
    print("debezium_insert_with_schema", insert, new SimpleHeaderConverter(), json(true, true), json(true, false));
    printCloudEvent("insert", insert);
    for (String name : new String[] {"update", "delete", "tombstone", "truncate", "message"}) {
      printJson(name, records.take());
    }
  }

  static void printOutbox(SourceRecord change) throws Exception {
    EventRouter<SourceRecord> router = new EventRouter<>();
    router.configure(Map.of("table.fields.additional.placement", "type:header:eventType"));
    SourceRecord record = router.apply(change);
    StringConverter strings = new StringConverter();
    strings.configure(Map.of(), false);
    print("outbox", record, new SimpleHeaderConverter(), strings, strings);
    print("outbox_in_json", record, jsonHeaders(false), json(false, true), json(false, false));
    print("outbox_with_schema", record, jsonHeaders(true), json(true, true), json(true, false));
  }

  static Properties settings(String host, String port, String user) {
    Properties out = new Properties();
    out.putAll(Map.of("name", "fixtures", "connector.class", "io.debezium.connector.postgresql.PostgresConnector",
        "offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore", "topic.prefix", "dbserver1",
        "plugin.name", "pgoutput", "slot.drop.on.stop", "true", "skipped.operations", "none"));
    out.putAll(Map.of("database.hostname", host, "database.port", port, "database.user", user, "database.dbname",
        "postgres", "table.include.list", "inventory.customers,inventory.outbox"));
    return out;
  }

  public static void main(String[] arguments) throws Exception {
    Scanner in = new Scanner(System.in);
    String host = in.nextLine(), port = in.nextLine(), user = in.nextLine();
    BlockingQueue<SourceRecord> records = new LinkedBlockingQueue<>();
    try (Connection database =
             DriverManager.getConnection("jdbc:postgresql://" + host + ":" + port + "/postgres?user=" + user)) {
      run(database, "drop schema if exists inventory cascade", "create schema inventory",
          "create table inventory.customers (id int primary key, first_name text, email text)",
          "alter table inventory.customers replica identity full",
          "create table inventory.outbox (id uuid primary key, aggregatetype text not null, aggregateid text not null, "
              + "type text not null, payload jsonb)",
          "insert into inventory.customers values (1002, 'George', 'g@example.org'), (1003, 'Edward', 'ed@example.org')");
      DebeziumEngine<RecordChangeEvent<SourceRecord>> engine = DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
          .using(settings(host, port, user)).notifying(event -> records.add(event.record())).build();
      ExecutorService thread = Executors.newSingleThreadExecutor();
      thread.execute(engine);
      SourceRecord row = records.take();
      printJson("snapshot", row);
      printCloudEvent("snapshot", row);
      printCloudEvent("snapshot_of_another_row", records.take());
      run(database, "insert into inventory.customers values (1004, 'Anne', 'annek@example.org')",
          "update inventory.customers set first_name = 'Anne Marie' where id = 1004",
          "delete from inventory.customers where id = 1004", "truncate inventory.customers",
          "select pg_logical_emit_message(true, 'audit', 'checked')",
          "insert into inventory.outbox values ('550e8400-e29b-41d4-a716-446655440000', 'order', 'order-7', "
              + "'OrderPlaced', '{\"orderId\": 1}')");
      printChanges(records);
      printOutbox(records.take());
      engine.close();
      thread.shutdown();
      run(database, "drop schema inventory cascade", "drop publication dbz_publication");
    }
    System.exit(0);
  }

  static void run(Connection database, String... statements) throws Exception {
    for (String statement : statements) database.createStatement().execute(statement);
  }
}
