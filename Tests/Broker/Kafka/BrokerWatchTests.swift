import TestSupport
import Testing

@testable import Kafka

/// One log line each time the cluster stops or resumes answering, with the reason as soon as it is known.
@Suite struct BrokerWatchTests {
    /// A client noticed that brokers are down, or that a connection broke, was closed or was not authenticated; a request was not
    /// answered in time, or was answered.
    enum Event {
        case down, broken, closed, refused, slow, reached
    }

    private static let silence = "warning no Kafka broker answers at broker:9092: \(ErrorExplainer.silence); trying again"
    private static let outage = "warning no Kafka broker answers at broker:9092: connection refused; trying again"
    private static let refusal = "error no connection to broker:9092: wrong password; trying again"
    private static let recovery = "notice Kafka answers at broker:9092 again"

    static let rules: [(String, [Event], lines: [String], needsProbe: Bool)] = [
        ("a broker that never answered is missed at once", [.closed, .slow, .down], [outage], true),
        ("a refusal ends a command, whose error says it", [.refused], [], true),
        ("what a client noticed later is only a suspicion", [.reached, .down, .closed], [], true),
        ("which an answer refutes", [.reached, .closed, .reached], [], false),
        ("an outage is one line", [.closed, .slow, .closed, .down, .broken, .slow], [outage], true),
        ("and its end another", [.closed, .slow, .reached, .reached], [outage, recovery], false),
        ("the reason may be known a moment later", [.broken, .slow, .closed, .slow], [outage], true),
        ("without one the next failure is logged", [.down, .slow, .slow, .slow, .reached], [silence, recovery], false),
        ("an outage that was not logged has no end", [.slow, .reached], [], false),
        ("a failure just after the end is looked into first", [.closed, .slow, .reached, .slow], [outage, recovery], true),
        ("a refusal is said", [.closed, .slow, .refused, .slow, .refused, .slow, .reached], [outage, refusal, recovery], false),
        ("rather than broken connections", [.down, .refused, .closed, .slow], [refusal], true),
    ]

    @Test(arguments: rules)
    func changesAreLogged(rule: String, events: [Event], lines: [String], needsProbe: Bool) {
        let recorder = LogRecorder()
        let watch = BrokerWatch(bootstrapServers: "broker:9092", logger: recorder.makeLogger())
        func noticed(_ code: KafkaError.Code, _ message: String) {
            watch.noticed(KafkaError(code: code, message: message).with(\.broker, "broker:9092"))
        }
        for event in events {
            switch event {
            case .down: watch.noticed(KafkaError(code: .allBrokersDown))
            case .broken: noticed(.transport, "hung up at the first request")
            case .closed: noticed(.transport, "connection refused")
            case .refused: noticed(.authentication, "wrong password")
            case .slow: watch.failed()
            case .reached: watch.reached()
            }
        }
        #expect(recorder.all == lines, "\(rule)")
        #expect(watch.needsProbe == needsProbe, "\(rule)")
    }

    /// A wrong port looks the same before the first answer, and a single failure is an accident.
    @Test func warnsOfRepeatedImmediateDisconnects() {
        let recorder = LogRecorder()
        let watch = BrokerWatch(bootstrapServers: "broker:9092", connections: 23, logger: recorder.makeLogger())
        let start = ContinuousClock.now
        func close(after seconds: Int) {
            let error = KafkaError(code: .transport, message: "hung up at the first request; perhaps it is not a Kafka port")
            watch.noticedClosing(error, at: start + .seconds(seconds))
        }
        for _ in 0..<5 { close(after: 0) }
        watch.reached()
        for seconds in [0, 50, 100, 150] { close(after: seconds) }
        #expect(recorder.all.isEmpty && watch.closings(at: start + .seconds(150)) == nil)
        watch.noticedClosing(KafkaError(code: .transport, message: "connection refused"), at: start + .seconds(151))
        #expect(recorder.all.isEmpty)
        for _ in 0..<3 { close(after: 155) }
        let text = watch.closings(at: start + .seconds(156)) ?? ""
        #expect(text.contains("max.connections.per.ip") && text.hasSuffix("may need 23 to each"))
        #expect(recorder.all == ["warning \(text)"])
        #expect(watch.closings(at: start + .seconds(216)) == nil)
    }

    /// A name may have another address, which answers.
    @Test(arguments: [("127.0.0.1:9092", true), ("[::1]:9092", true), ("cafe:9092", false), ("dual.example:9092", false)])
    func reportsOnlyUnreachableIPAddressesAtOnce(broker: String, isMissed: Bool) {
        let recorder = LogRecorder()
        let watch = BrokerWatch(bootstrapServers: broker, logger: recorder.makeLogger())
        watch.noticed(KafkaError(code: .transport, message: "connection refused").with(\.broker, broker))
        #expect((watch.obstacle != nil) == isMissed)
        #expect(recorder.all.isEmpty != isMissed)
        watch.failed()
        #expect(recorder.all == ["warning no Kafka broker answers at \(broker): connection refused; trying again"])
    }

    @Test func reportsAFailureToAcquireAToken() {
        let recorder = LogRecorder()
        let watch = BrokerWatch(bootstrapServers: "a:1,b:2", logger: recorder.makeLogger())
        watch.noticed(KafkaError(code: .authentication, message: "Failed to acquire SASL OAUTHBEARER token: x"))
        watch.failed()
        #expect(recorder.all == ["error no connection to a:1,b:2: Failed to acquire SASL OAUTHBEARER token: x; trying again"])
    }

    @Test func aBrokerOfSeveralIsNamed() {
        let watch = BrokerWatch(bootstrapServers: "a:1,b:2", logger: .quiet)
        // The other one may answer.
        watch.noticed(KafkaError(code: .transport, message: "connection refused").with(\.broker, "b:2"))
        #expect(watch.obstacle == nil)
        watch.failed()
        #expect(watch.obstacle == "no Kafka broker answers at a:1,b:2: b:2: connection refused")
        // A client that waits for that broker goes on waiting.
        watch.reached()
        #expect(watch.obstacle == nil)
        #expect(watch.lastFailure == "b:2: connection refused")
    }
}
