// Writes records with the libraries of CloudEvents and Dapr, a line of JSON each: {"name", "headers", "value"}, with
// bytes in hexadecimal digits. Called by make_library_records.py.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/IBM/sarama"
	"github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/dapr/components-contrib/pubsub"
)

func print(name string, headers []sarama.RecordHeader, value []byte) {
	list := [][]string{}
	for _, header := range headers {
		list = append(list, []string{string(header.Key), hex.EncodeToString(header.Value)})
	}
	out, err := json.Marshal(map[string]any{"name": name, "headers": list, "value": hex.EncodeToString(value)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(out))
}

func printEvent(ctx context.Context, name string, written event.Event) {
	message := sarama.ProducerMessage{}
	if err := kafka_sarama.WriteProducerMessage(ctx, binding.ToMessage(&written), &message); err != nil {
		log.Fatal(err)
	}
	value, err := message.Value.Encode()
	if err != nil {
		log.Fatal(err)
	}
	print(name, message.Headers, value)
}

func main() {
	written := event.New()
	written.SetID("A234-1234-1234")
	written.SetSource("/mycontext")
	written.SetType("com.example.order")
	written.SetSubject("order-7")
	written.SetTime(time.UnixMilli(1714564800250).UTC())
	written.SetExtension("partitionkey", "k-1")
	if err := written.SetData("application/json", map[string]int{"a": 1}); err != nil {
		log.Fatal(err)
	}
	printEvent(context.Background(), "go_binary", written)
	printEvent(binding.WithForceStructured(context.Background()), "go_structured", written)

	envelope := pubsub.NewCloudEventsEnvelope("A234-1234-1234", "/mycontext", "", "order-7", "orders", "kafka",
		"application/json", []byte(`{"a":1}`), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")
	envelope[pubsub.TimeField] = "2024-05-01T12:00:00Z" // otherwise the time of this run
	value, err := json.Marshal(envelope)
	if err != nil {
		log.Fatal(err)
	}
	print("dapr", nil, value)
}
