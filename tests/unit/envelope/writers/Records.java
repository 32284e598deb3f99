// Writes records with the libraries of CloudEvents, Spring Kafka and Axon, a line of JSON each: {"name", "headers",
// "value"}, with bytes in hexadecimal digits. Called by make_library_records.py.
package com.shop;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.core.message.Encoding;
import io.cloudevents.jackson.JsonFormat;
import io.cloudevents.kafka.CloudEventSerializer;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.axonframework.eventhandling.GenericDomainEventMessage;
import org.axonframework.messaging.GenericMessage;
import org.axonframework.serialization.SerializedObject;
import org.axonframework.serialization.json.JacksonSerializer;
import org.springframework.kafka.support.JsonKafkaHeaderMapper;
import org.springframework.kafka.support.converter.MessagingMessageConverter;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;

public class Records {
  static final ObjectMapper mapper = new ObjectMapper();
  static final Instant time = Instant.parse("2024-05-01T12:00:00.25Z");

  static void print(String name, Headers headers, byte[] value) throws Exception {
    ObjectNode out = mapper.createObjectNode().put("name", name).put("value", HexFormat.of().formatHex(value));
    ArrayNode list = out.putArray("headers");
    for (Header header : headers) {
      String hex = header.value() == null ? null : HexFormat.of().formatHex(header.value());
      list.addArray().add(header.key()).add(hex);
    }
    System.out.println(mapper.writeValueAsString(out));
  }

  static void cloudEvent(String name, Map<String, Object> config) throws Exception {
    CloudEvent event = CloudEventBuilder.v1().withId("A234-1234-1234").withSource(URI.create("/mycontext"))
        .withType("com.example.order").withSubject("order-7").withTime(OffsetDateTime.parse(time.toString()))
        .withData("application/json", "{\"a\":1}".getBytes(StandardCharsets.UTF_8))
        .withExtension("partitionkey", "k-1").build();
    try (CloudEventSerializer serializer = new CloudEventSerializer()) {
      serializer.configure(config, false);
      RecordHeaders headers = new RecordHeaders();
      byte[] value = serializer.serialize("orders", headers, event);
      print(name, headers, value);
    }
  }

  /** As KafkaTemplate.send(message) does: headers by the converter, the value and the class by the serializer. */
  static void spring(String name, boolean isOld) throws Exception {
    Message<OrderPlaced> message = MessageBuilder.withPayload(new OrderPlaced("order-7", 12))
        .setHeader("eventId", "550e8400-e29b-41d4-a716-446655440000").setHeader("attempt", 1).build();
    JsonKafkaHeaderMapper headerMapper = new JsonKafkaHeaderMapper();
    headerMapper.setEncodeStrings(isOld);
    MessagingMessageConverter converter = new MessagingMessageConverter();
    converter.setHeaderMapper(headerMapper);
    Headers headers = converter.fromMessage(message, "orders").headers();
    try (JacksonJsonSerializer<OrderPlaced> serializer = new JacksonJsonSerializer<>()) {
      byte[] value = serializer.serialize("orders", headers, message.getPayload());
      print(name, headers, value);
    }
  }

  /**
   * Axon's names and values. Its extension for Kafka is not among the artifacts: it adds the metadata first, writes
   * numbers and times as long values, and all else as text.
   */
  static void axon() throws Exception {
    var event = new GenericDomainEventMessage<>("Order", "order-7", 2L,
        new GenericMessage<>("8c3f0a1e-55f3-4b29-9d06-3d5a4f1d8f11", new OrderPlaced("order-7", 12),
            Map.of("traceId", "t-1")), time);
    SerializedObject<byte[]> payload = JacksonSerializer.builder().objectMapper(mapper).build()
        .serialize(event.getPayload(), byte[].class);
    RecordHeaders headers = new RecordHeaders();
    event.getMetaData().forEach((key, value) ->
        headers.add(org.axonframework.messaging.Headers.MESSAGE_METADATA + "-" + key, bytes(value)));
    org.axonframework.messaging.Headers.defaultHeaders(event, payload)
        .forEach((key, value) -> headers.add(key, bytes(value)));
    print("axon", headers, payload.getData());
  }

  static byte[] bytes(Object value) {
    if (value == null) return null;
    if (value instanceof Instant when) return ByteBuffer.allocate(8).putLong(when.toEpochMilli()).array();
    if (value instanceof Number number) return ByteBuffer.allocate(8).putLong(number.longValue()).array();
    return value.toString().getBytes(StandardCharsets.UTF_8);
  }

  public static void main(String[] arguments) throws Exception {
    cloudEvent("java_binary", Map.of());
    cloudEvent("java_structured", Map.of(CloudEventSerializer.ENCODING_CONFIG, Encoding.STRUCTURED,
        CloudEventSerializer.EVENT_FORMAT_CONFIG, JsonFormat.CONTENT_TYPE));
    spring("spring", false);
    spring("spring_with_json_headers", true);
    axon();
  }
}

record OrderPlaced(String orderId, int amount) {}
