// Written by make_debezium_records.py.
#pragma once
#include "records.hpp"

namespace inboxd::envelope::test {

inline WrittenRecord debezium_snapshot() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"before":null,"after":{"id":1002,"first_name":"George","email":"g@example.org"},"source":{"version")"
      R"(:"3.6.1.Final","connector":"postgresql","name":"dbserver1","ts_ms":1795860021993,"snapshot":"first",)"
      R"("db":"postgres","sequence":"[null,\"22551744\"]","ts_us":1795860021993956,"ts_ns":179586002199395600)"
      R"(0,"schema":"inventory","table":"customers","txId":756,"lsn":22551744,"xmin":null,"origin":null,"orig)"
      R"(in_lsn":null},"transaction":null,"op":"r","ts_ms":1795860022352,"ts_us":1795860022352200,"ts_ns":179)"
      R"(5860022352200517})",
      R"({"id":1002})"};
}

inline WrittenRecord cloudevent_of_snapshot() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"id":"name:dbserver1;lsn:22551744;txId:756;sequence:[null,\"22551744\"]","source":"/debezium/postgr)"
      R"(esql/dbserver1","specversion":"1.0","type":"io.debezium.connector.postgresql.DataChangeEvent","time")"
      R"(:"2026-11-28T10:00:21.993Z","datacontenttype":"application/json","iodebeziumop":"r","iodebeziumversi)"
      R"(on":"3.6.1.Final","iodebeziumconnector":"postgresql","iodebeziumname":"dbserver1","iodebeziumtsms":")"
      R"(1795860021993","iodebeziumsnapshot":"first","iodebeziumdb":"postgres","iodebeziumsequence":"[null,\")"
      R"(22551744\"]","iodebeziumtsus":"1795860021993956","iodebeziumtsns":"1795860021993956000","iodebeziums)"
      R"(chema":"inventory","iodebeziumtable":"customers","iodebeziumtxId":"756","iodebeziumlsn":"22551744",")"
      R"(iodebeziumxmin":null,"iodebeziumorigin":null,"iodebeziumoriginlsn":null,"iodebeziumtxid":null,"iodeb)"
      R"(eziumtxtotalorder":null,"iodebeziumtxdatacollectionorder":null,"data":{"before":null,"after":{"id":1)"
      R"(002,"first_name":"George","email":"g@example.org"}}})",
      R"({"id":1002})"};
}

inline WrittenRecord cloudevent_of_snapshot_of_another_row() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"id":"name:dbserver1;lsn:22551744;txId:756;sequence:[null,\"22551744\"]","source":"/debezium/postgr)"
      R"(esql/dbserver1","specversion":"1.0","type":"io.debezium.connector.postgresql.DataChangeEvent","time")"
      R"(:"2026-11-28T10:00:21.993Z","datacontenttype":"application/json","iodebeziumop":"r","iodebeziumversi)"
      R"(on":"3.6.1.Final","iodebeziumconnector":"postgresql","iodebeziumname":"dbserver1","iodebeziumtsms":")"
      R"(1795860021993","iodebeziumsnapshot":"last","iodebeziumdb":"postgres","iodebeziumsequence":"[null,\"2)"
      R"(2551744\"]","iodebeziumtsus":"1795860021993956","iodebeziumtsns":"1795860021993956000","iodebeziumsc)"
      R"(hema":"inventory","iodebeziumtable":"customers","iodebeziumtxId":"756","iodebeziumlsn":"22551744","i)"
      R"(odebeziumxmin":null,"iodebeziumorigin":null,"iodebeziumoriginlsn":null,"iodebeziumtxid":null,"iodebe)"
      R"(ziumtxtotalorder":null,"iodebeziumtxdatacollectionorder":null,"data":{"before":null,"after":{"id":10)"
      R"(03,"first_name":"Edward","email":"ed@example.org"}}})",
      R"({"id":1003})"};
}

inline WrittenRecord debezium_insert() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"before":null,"after":{"id":1004,"first_name":"Anne","email":"annek@example.org"},"source":{"versio)"
      R"(n":"3.6.1.Final","connector":"postgresql","name":"dbserver1","ts_ms":1795860022905,"snapshot":"false)"
      R"(","db":"postgres","sequence":"[null,\"22551856\"]","ts_us":1795860022905160,"ts_ns":1795860022905160)"
      R"(000,"schema":"inventory","table":"customers","txId":757,"lsn":22551856,"xmin":null,"origin":null,"or)"
      R"(igin_lsn":null},"transaction":null,"op":"c","ts_ms":1795860023070,"ts_us":1795860023070424,"ts_ns":1)"
      R"(795860023070424757})",
      R"({"id":1004})"};
}

inline WrittenRecord debezium_insert_with_schema() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"schema":{"type":"struct","fields":[{"type":"struct","fields":[{"type":"int32","optional":false,"fi)"
      R"(eld":"id"},{"type":"string","optional":true,"field":"first_name"},{"type":"string","optional":true,")"
      R"(field":"email"}],"optional":true,"name":"dbserver1.inventory.customers.Value","field":"before"},{"ty)"
      R"(pe":"struct","fields":[{"type":"int32","optional":false,"field":"id"},{"type":"string","optional":tr)"
      R"(ue,"field":"first_name"},{"type":"string","optional":true,"field":"email"}],"optional":true,"name":")"
      R"(dbserver1.inventory.customers.Value","field":"after"},{"type":"struct","fields":[{"type":"string","o)"
      R"(ptional":false,"field":"version"},{"type":"string","optional":false,"field":"connector"},{"type":"st)"
      R"(ring","optional":false,"field":"name"},{"type":"int64","optional":false,"field":"ts_ms"},{"type":"st)"
      R"(ring","optional":true,"name":"io.debezium.data.Enum","version":1,"parameters":{"allowed":"true,first)"
      R"(,first_in_data_collection,last_in_data_collection,last,false,incremental"},"default":"false","field")"
      R"(:"snapshot"},{"type":"string","optional":false,"field":"db"},{"type":"string","optional":true,"field)"
      R"(":"sequence"},{"type":"int64","optional":true,"field":"ts_us"},{"type":"int64","optional":true,"fiel)"
      R"(d":"ts_ns"},{"type":"string","optional":false,"field":"schema"},{"type":"string","optional":false,"f)"
      R"(ield":"table"},{"type":"int64","optional":true,"field":"txId"},{"type":"int64","optional":true,"fiel)"
      R"(d":"lsn"},{"type":"int64","optional":true,"field":"xmin"},{"type":"string","optional":true,"field":")"
      R"(origin"},{"type":"int64","optional":true,"field":"origin_lsn"}],"optional":false,"name":"io.debezium)"
      R"(.connector.postgresql.Source","version":1,"field":"source"},{"type":"struct","fields":[{"type":"stri)"
      R"(ng","optional":false,"field":"id"},{"type":"int64","optional":false,"field":"total_order"},{"type":")"
      R"(int64","optional":false,"field":"data_collection_order"}],"optional":true,"name":"event.block","vers)"
      R"(ion":1,"field":"transaction"},{"type":"string","optional":false,"field":"op"},{"type":"int64","optio)"
      R"(nal":true,"field":"ts_ms"},{"type":"int64","optional":true,"field":"ts_us"},{"type":"int64","optiona)"
      R"(l":true,"field":"ts_ns"}],"optional":false,"name":"dbserver1.inventory.customers.Envelope","version")"
      R"(:2},"payload":{"before":null,"after":{"id":1004,"first_name":"Anne","email":"annek@example.org"},"so)"
      R"(urce":{"version":"3.6.1.Final","connector":"postgresql","name":"dbserver1","ts_ms":1795860022905,"sn)"
      R"(apshot":"false","db":"postgres","sequence":"[null,\"22551856\"]","ts_us":1795860022905160,"ts_ns":17)"
      R"(95860022905160000,"schema":"inventory","table":"customers","txId":757,"lsn":22551856,"xmin":null,"or)"
      R"(igin":null,"origin_lsn":null},"transaction":null,"op":"c","ts_ms":1795860023070,"ts_us":179586002307)"
      R"(0424,"ts_ns":1795860023070424757}})",
      R"({"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],"optional":fals)"
      R"(e,"name":"dbserver1.inventory.customers.Key"},"payload":{"id":1004}})"};
}

inline WrittenRecord cloudevent_of_insert() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"id":"name:dbserver1;lsn:22551856;txId:757;sequence:[null,\"22551856\"]","source":"/debezium/postgr)"
      R"(esql/dbserver1","specversion":"1.0","type":"io.debezium.connector.postgresql.DataChangeEvent","time")"
      R"(:"2026-11-28T10:00:22.905Z","datacontenttype":"application/json","iodebeziumop":"c","iodebeziumversi)"
      R"(on":"3.6.1.Final","iodebeziumconnector":"postgresql","iodebeziumname":"dbserver1","iodebeziumtsms":")"
      R"(1795860022905","iodebeziumsnapshot":"false","iodebeziumdb":"postgres","iodebeziumsequence":"[null,\")"
      R"(22551856\"]","iodebeziumtsus":"1795860022905160","iodebeziumtsns":"1795860022905160000","iodebeziums)"
      R"(chema":"inventory","iodebeziumtable":"customers","iodebeziumtxId":"757","iodebeziumlsn":"22551856",")"
      R"(iodebeziumxmin":null,"iodebeziumorigin":null,"iodebeziumoriginlsn":null,"iodebeziumtxid":null,"iodeb)"
      R"(eziumtxtotalorder":null,"iodebeziumtxdatacollectionorder":null,"data":{"before":null,"after":{"id":1)"
      R"(004,"first_name":"Anne","email":"annek@example.org"}}})",
      R"({"id":1004})"};
}

inline WrittenRecord debezium_update() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"before":{"id":1004,"first_name":"Anne","email":"annek@example.org"},"after":{"id":1004,"first_name)"
      R"(":"Anne Marie","email":"annek@example.org"},"source":{"version":"3.6.1.Final","connector":"postgresq)"
      R"(l","name":"dbserver1","ts_ms":1795860022913,"snapshot":"false","db":"postgres","sequence":"[\"225520)"
      R"(56\",\"22552056\"]","ts_us":1795860022913428,"ts_ns":1795860022913428000,"schema":"inventory","table)"
      R"(":"customers","txId":758,"lsn":22552056,"xmin":null,"origin":null,"origin_lsn":null},"transaction":n)"
      R"(ull,"op":"u","ts_ms":1795860023074,"ts_us":1795860023074905,"ts_ns":1795860023074905840})",
      R"({"id":1004})"};
}

inline WrittenRecord debezium_delete() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"before":{"id":1004,"first_name":"Anne Marie","email":"annek@example.org"},"after":null,"source":{")"
      R"(version":"3.6.1.Final","connector":"postgresql","name":"dbserver1","ts_ms":1795860022914,"snapshot":)"
      R"("false","db":"postgres","sequence":"[\"22552240\",\"22552240\"]","ts_us":1795860022914496,"ts_ns":17)"
      R"(95860022914496000,"schema":"inventory","table":"customers","txId":759,"lsn":22552240,"xmin":null,"or)"
      R"(igin":null,"origin_lsn":null},"transaction":null,"op":"d","ts_ms":1795860023077,"ts_us":179586002307)"
      R"(7302,"ts_ns":1795860023077302589})",
      R"({"id":1004})"};
}

inline WrittenRecord debezium_tombstone() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      std::nullopt,
      R"({"id":1004})"};
}

inline WrittenRecord debezium_truncate() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"}},
      R"({"before":null,"after":null,"source":{"version":"3.6.1.Final","connector":"postgresql","name":"dbser)"
      R"(ver1","ts_ms":1795860022917,"snapshot":"false","db":"postgres","sequence":"[\"22552384\",\"22555384\)"
      R"("]","ts_us":1795860022917605,"ts_ns":1795860022917605000,"schema":"inventory","table":"customers","t)"
      R"(xId":760,"lsn":22555384,"xmin":null,"origin":null,"origin_lsn":null},"transaction":null,"op":"t","ts)"
      R"(_ms":1795860023088,"ts_us":1795860023088086,"ts_ns":1795860023088086048})",
      std::nullopt};
}

inline WrittenRecord debezium_message() {
  return {
      {},
      R"({"op":"m","ts_ms":1795860023089,"source":{"version":"3.6.1.Final","connector":"postgresql","name":"d)"
      R"(bserver1","ts_ms":1795860022922,"snapshot":"false","db":"postgres","sequence":"[\"22555800\",\"22555)"
      R"(864\"]","ts_us":1795860022922810,"ts_ns":1795860022922810000,"schema":"","table":"","txId":761,"lsn")"
      R"(:22555864,"xmin":null,"origin":null,"origin_lsn":null},"transaction":null,"message":{"prefix":"audit)"
      R"(","content":"Y2hlY2tlZA=="}})",
      R"({"prefix":"audit"})"};
}

inline WrittenRecord outbox() {
  return {
      {
       {"__debezium.context.connectorLogicalName", "dbserver1"},
       {"__debezium.context.taskId", "0"},
       {"__debezium.context.connectorName", "postgresql"},
       {"__debezium.context.runId", "01a22199-4003-782e-b615-f8e69c9b3453"},
       {"id", "550e8400-e29b-41d4-a716-446655440000"},
       {"eventType", "OrderPlaced"}},
      R"({"orderId": 1})",
      "order-7"};
}

inline WrittenRecord outbox_in_json() {
  return {
      {
       {"__debezium.context.connectorLogicalName", R"("dbserver1")"},
       {"__debezium.context.taskId", R"("0")"},
       {"__debezium.context.connectorName", R"("postgresql")"},
       {"__debezium.context.runId", R"("01a22199-4003-782e-b615-f8e69c9b3453")"},
       {"id", R"("550e8400-e29b-41d4-a716-446655440000")"},
       {"eventType", R"("OrderPlaced")"}},
      R"("{\"orderId\": 1}")",
      R"("order-7")"};
}

inline WrittenRecord outbox_with_schema() {
  return {
      {
       {"__debezium.context.connectorLogicalName",
      R"({"schema":{"type":"string","optional":false},"payload":"dbserver1"})"},
       {"__debezium.context.taskId", R"({"schema":{"type":"string","optional":false},"payload":"0"})"},
       {"__debezium.context.connectorName",
      R"({"schema":{"type":"string","optional":false},"payload":"postgresql"})"},
       {"__debezium.context.runId",
      R"({"schema":{"type":"string","optional":false},"payload":"01a22199-4003-782e-b615-f8e69c9b3453"})"},
       {"id",
      R"({"schema":{"type":"string","optional":false,"name":"io.debezium.data.Uuid","version":1},"payload":"5)"
      R"(50e8400-e29b-41d4-a716-446655440000"})"},
       {"eventType", R"({"schema":{"type":"string","optional":false},"payload":"OrderPlaced"})"}},
      R"({"schema":{"type":"string","optional":true,"name":"io.debezium.data.Json","version":1},"payload":"{\)"
      R"("orderId\": 1}"})",
      R"({"schema":{"type":"string","optional":false},"payload":"order-7"})"};
}

}  // namespace inboxd::envelope::test
