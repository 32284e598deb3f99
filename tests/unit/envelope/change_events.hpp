#pragma once
#include <string>

/// Change events in the form of Debezium with JsonConverter. PostgreSQL's have the members of Debezium's own in
/// debezium_records.hpp (a test compares them). The others are composed by hand after the examples in the documentation
/// of the connectors (debezium.io, "Change event values").
namespace inboxd::envelope::test {

/// A change of row 1004 of inventory.customers in PostgreSQL.
struct Change {
  std::string before = "null";
  std::string after = R"({"id":1004,"first_name":"Anne","email":"annek@noanswer.org"})";
  std::string lsn = "24023128";
  std::string op = "c";
  std::string snapshot = R"("false")";
  std::string sent = "1559033904863";          ///< when Debezium sent it

  std::string source() const {
    return R"({"version":"3.6.1.Final","connector":"postgresql","name":"dbserver1","ts_ms":1559033904123,"snapshot":)" +
           snapshot + R"(,"db":"postgres","sequence":"[\"24023119\",\")" + lsn +
           R"(\"]","ts_us":1559033904123000,"ts_ns":1559033904123000000,"schema":"inventory","table":"customers",)"
           R"("txId":555,"lsn":)" + lsn + R"(,"xmin":null,"origin":null,"origin_lsn":null})";
  }
  std::string json() const {
    return R"({"before":)" + before + R"(,"after":)" + after + R"(,"source":)" + source() +
           R"(,"transaction":null,"op":")" + op + R"(","ts_ms":)" + sent + R"(,"ts_us":)" + sent +
           R"(000,"ts_ns":)" + sent + "000000}";
  }
  std::string with_schema() const {
    return R"({"schema":{"type":"struct","fields":[{"type":"string","optional":false,"field":"op"}],"optional":false,)"
           R"("name":"dbserver1.inventory.customers.Envelope","version":2},"payload":)" + json() + "}";
  }
};

inline std::string mysql(const std::string& row, const std::string& op = "u") {
  return R"({"before":{"id":1004,"n":"a"},"after":{"id":1004,"n":"b"},"source":{"version":"2.7.0.Final","connector":)"
         R"("mysql","name":"mysql-server-1","ts_ms":1465581029000,"snapshot":"false","db":"inventory","sequence":null,)"
         R"("table":"customers","server_id":223344,"gtid":null,"file":"mysql-bin.000003","pos":484,"row":)" + row +
         R"(,"thread":7,"query":null},"op":")" + op + R"(","ts_ms":1465581029523,"transaction":null})";
}

inline std::string mongodb(const std::string& transaction_number = "null", const std::string& transaction = "null") {
  return R"({"before":null,"after":"{\"_id\": {\"$numberLong\": \"1004\"},\"n\": \"a\"}","updateDescription":null,)"
         R"("source":{"version":"2.7.0.Final","connector":"mongodb","name":"fulfillment","ts_ms":1558965508000,)"
         R"("snapshot":"false","db":"inventory","sequence":null,"rs":"rs0","collection":"customers","ord":31,)"
         R"("lsid":null,"txnNumber":)" + transaction_number + R"(},"op":"c","ts_ms":1558965515240,"transaction":)" +
         transaction + "}";
}

inline std::string sqlserver() {
  return R"({"before":null,"after":{"id":1005},"source":{"version":"2.7.0.Final","connector":"sqlserver","name":)"
         R"("server1","ts_ms":1559729468470,"snapshot":"false","db":"testDB","sequence":null,"schema":"dbo","table":)"
         R"("customers","change_lsn":"00000027:00000758:0003","commit_lsn":"00000027:00000758:0005",)"
         R"("event_serial_no":1},"op":"c","ts_ms":1559729471739,"transaction":null})";
}

inline std::string oracle(const std::string& rs_id) {
  return R"({"before":null,"after":{"ID":"1"},"source":{"version":"2.7.0.Final","connector":"oracle","name":"server1",)"
         R"("ts_ms":1520085154000,"snapshot":"false","db":"ORCL","sequence":null,"schema":"INVENTORY",)"
         R"("table":"ORDERS","txId":"6.28.807","scn":"2122185","commit_scn":"2122186",)"
         R"("lcr_position":null,"rs_id":)" + rs_id +
         R"(,"ssn":0,"redo_thread":1,"user_name":"U","redo_sql":null,"row_id":"AAA"},"op":"c","ts_ms":1532592105975,)"
         R"("transaction":null})";
}

}  // namespace inboxd::envelope::test
