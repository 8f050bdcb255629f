import Kafka
import TestSupport
import Testing

@testable import JuiceService

/// One log line each time the cluster stops or resumes answering.
@Suite struct BrokerWatchTests {
    private let recorder = LogRecorder()
    private let down = KafkaError(code: .allBrokersDown)
    private let slow = KafkaError(code: .timedOut, isRetriable: true)

    private func makeWatch() -> BrokerWatch {
        BrokerWatch(bootstrapServers: "broker:9092", logger: recorder.makeLogger())
    }

    @Test func whatAClientNoticedIsOnlyASuspicion() {
        let watch = makeWatch()
        #expect(!watch.needsProbe)
        watch.noticed(down)
        #expect(watch.needsProbe)
        watch.reached()
        #expect(!watch.needsProbe)
        #expect(recorder.all.isEmpty)
    }

    @Test func anOutageIsOneLineAndItsEndAnother() {
        let watch = makeWatch()
        for _ in 0..<3 {
            watch.noticed(down)
            watch.failed(slow)
        }
        watch.reached()
        watch.reached()
        #expect(
            recorder.all == [
                "warning no Kafka broker answers at broker:9092; waiting for one",
                "notice Kafka answers at broker:9092 again",
            ]
        )
    }

    @Test func aFailureJustAfterTheEndIsLookedIntoFirst() {
        let watch = makeWatch()
        watch.failed(slow)
        watch.reached()
        watch.failed(slow)
        #expect(watch.needsProbe)
        watch.reached()
        #expect(recorder.all.count == 2)
    }

    @Test func aRefusalAfterAnOutageIsSaid() {
        let watch = makeWatch()
        watch.failed(slow)
        for _ in 0..<2 {
            watch.noticed(KafkaError(code: .authentication, message: "wrong password"))
            watch.failed(slow)
        }
        watch.reached()
        #expect(
            recorder.all == [
                "warning no Kafka broker answers at broker:9092; waiting for one",
                "error no connection to broker:9092: wrong password; trying again",
                "notice Kafka answers at broker:9092 again",
            ]
        )
    }

    @Test func aRefusalIsSaidRatherThanTheBrokenConnection() {
        let watch = makeWatch()
        watch.noticed(down)
        watch.noticed(KafkaError(code: .authentication, message: "wrong password"))
        watch.noticed(down)
        watch.failed(slow)
        #expect(recorder.all == ["error no connection to broker:9092: wrong password; trying again"])
    }
}
