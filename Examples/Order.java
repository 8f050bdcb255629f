import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends an order and prints the answer: java -cp 'libs/*' Order.java BROKERS STORE JUICE... */
public class Order {
    static final String PREFIX = System.getenv().getOrDefault("JUICE_TOPIC_PREFIX", "juice.");

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 3) {
            System.err.println("usage: Order BROKERS STORE JUICE...");
            System.exit(64);
        }
        // Kafka's log has a line for each attempt to connect.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        try {
            send(arguments);
        } catch (KafkaException error) {
            System.err.println("Order: " + error.getMessage());
            System.exit(1);
        }
    }

    static void send(String[] arguments) throws InterruptedException {
        String brokers = arguments[0], store = arguments[1];
        String id = UUID.randomUUID().toString();
        String command = String.format("{\"orderId\":\"%s\",%s}", id, items(arguments));

        try (var consumer = reader(brokers);
                // Idempotent, with murmur2 for keys: both are the defaults.
                var producer = new KafkaProducer<>(
                        properties(brokers, Map.of("delivery.timeout.ms", "5000", "request.timeout.ms", "4000")),
                        new StringSerializer(), new StringSerializer())) {
            for (int attempt = 0; attempt < 3; attempt++) {
                // Under the same id, so that it is carried out once, however often it arrives.
                var sent = producer.send(new ProducerRecord<>(PREFIX + "orders", store, command));
                try {
                    sent.get();
                } catch (ExecutionException error) {
                    System.err.println(error.getCause().getMessage());
                }
                String answer = await(consumer, store, id, Duration.ofSeconds(5));
                if (answer != null) {
                    System.out.println(answer);
                    return;
                }
            }
        }
        System.err.println("no answer to " + id + "; it may still be carried out");
        System.exit(1);
    }

    /** The juices from the third argument on. */
    static String items(String[] arguments) {
        return Arrays.stream(arguments).skip(2).map(juice -> String.format("{\"juice\":\"%s\"}", juice))
                .collect(Collectors.joining(",", "\"items\":[", "]"));
    }

    /** A consumer at the end offsets of all partitions. Made before the order is sent, it misses no answer. */
    static KafkaConsumer<String, String> reader(String brokers) {
        var consumer = new KafkaConsumer<>(
                properties(brokers, Map.of("isolation.level", "read_committed", "enable.auto.commit", "false")),
                new StringDeserializer(), new StringDeserializer());
        List<TopicPartition> partitions = consumer.partitionsFor(PREFIX + "results").stream()
                .map(each -> new TopicPartition(each.topic(), each.partition())).toList();
        consumer.assign(partitions);
        consumer.endOffsets(partitions).forEach(consumer::seek);
        return consumer;
    }

    static String await(KafkaConsumer<String, String> consumer, String store, String id, Duration timeout) {
        Instant deadline = Instant.now().plus(timeout);
        while (Instant.now().isBefore(deadline)) {
            for (var answer : consumer.poll(Duration.between(Instant.now(), deadline))) {
                // Records without a key are notes of the service, not answers. In production, use a JSON library.
                if (store.equals(answer.key()) && answer.value().contains("\"orderId\":\"" + id + "\"")) {
                    return answer.value();
                }
            }
        }
        return null;
    }

    static Properties properties(String brokers, Map<String, String> others) {
        var properties = new Properties();
        properties.put("bootstrap.servers", brokers);
        // How long a lookup waits for a broker.
        properties.put("default.api.timeout.ms", "10000");
        properties.putAll(others);
        return properties;
    }
}
