import Kafka
import TestSupport
import Testing

/// One log line each time the cluster stops or resumes answering.
@Suite struct BrokerWatchTests {
    /// A client noticed that brokers are down or refuse it; a request was not answered in time, or was answered.
    enum Event {
        case down, refused, slow, reached
    }

    private static let outage = "warning no Kafka broker answers at broker:9092; waiting for one"
    private static let refusal = "error no connection to broker:9092: wrong password; trying again"
    private static let recovery = "notice Kafka answers at broker:9092 again"

    static let rules: [(String, [Event], lines: [String], needsProbe: Bool)] = [
        ("what a client noticed is only a suspicion", [.down], [], true),
        ("which an answer refutes", [.down, .reached], [], false),
        ("an outage is one line", [.down, .slow, .down, .slow], [outage], true),
        ("and its end another", [.slow, .reached, .reached], [outage, recovery], false),
        ("a failure just after the end is looked into first", [.slow, .reached, .slow], [outage, recovery], true),
        ("a refusal is said", [.slow, .refused, .slow, .refused, .slow, .reached], [outage, refusal, recovery], false),
        ("rather than broken connections", [.down, .refused, .down, .slow], [refusal], true),
    ]

    @Test(arguments: rules)
    func changesAreLogged(rule: String, events: [Event], lines: [String], needsProbe: Bool) {
        let recorder = LogRecorder()
        let watch = BrokerWatch(bootstrapServers: "broker:9092", logger: recorder.makeLogger())
        for event in events {
            switch event {
            case .down: watch.noticed(KafkaError(code: .allBrokersDown))
            case .refused: watch.noticed(KafkaError(code: .authentication, message: "wrong password"))
            case .slow: watch.failed(KafkaError(code: .timedOut, isRetriable: true))
            case .reached: watch.reached()
            }
        }
        #expect(recorder.all == lines, "\(rule)")
        #expect(watch.needsProbe == needsProbe, "\(rule)")
    }
}
