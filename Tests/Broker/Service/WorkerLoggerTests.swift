import JuiceMessages
import TestSupport
import Testing

@testable import JuiceEngine
@testable import JuiceService

/// Lines about events that clients can cause as often as they like.
@Suite struct WorkerLoggerTests {
    private final class Clock { var now = ContinuousClock.now }

    private let recorder = LogRecorder()
    private let clock = Clock()

    private func makeLog() -> WorkerLogger {
        WorkerLogger(
            logger: recorder.makeLogger(), configuration: ServiceConfiguration(bootstrapServers: "", instanceID: "test"),
            now: { [clock] in clock.now })
    }

    /// A transaction with `count` dead letters.
    private func letters(_ count: Int, _ reason: DeadLetterReason = .notJSON) -> WorkerEvent {
        var summary = TransactionSummary()
        let position = InputPosition(topic: .orders, partition: 0, offset: 7)
        summary.deadLettersByReason = [DeadLetters(reason, first: position, count: count)]
        return .committed(summary)
    }

    private static func line(_ reason: DeadLetterReason, and others: Int) -> String {
        "warning written as a dead letter: \(reason.message)" + (others == 0 ? "" : ", and \(others) more after it")
            + " code=\(reason.code) offset=7 partition=0 topic=juice.orders"
    }

    @Test func logsDeadLettersOfEachReasonWithinASecond() {
        var log = makeLog()
        for _ in 0..<1000 { log.log(letters(5)) }
        var logged = [Self.line(.notJSON, and: 4)]
        #expect(recorder.all == logged)
        log.log(letters(2, .missingID))
        logged.append(Self.line(.missingID, and: 1))
        #expect(recorder.all == logged, "another reason does not wait")
        clock.now += .milliseconds(999)
        log.log(letters(1))
        log.logDueDeadLetters()
        #expect(recorder.all == logged)
        clock.now += .milliseconds(1)
        log.logDueDeadLetters()
        logged.append(Self.line(.notJSON, and: 4995))
        #expect(recorder.all == logged, "nothing need follow the last one")
        clock.now += .seconds(1)
        log.logDueDeadLetters()
        #expect(recorder.all == logged)
    }

    @Test func logsTheCommandThatDescribesABlockingID() {
        var log = makeLog()
        log.log(.partitionFailing(3, PartitionFault(.owner(id: "juice/i/0/1/2"), "a reason")))
        let line = recorder.all.first ?? ""
        #expect(line.hasPrefix("critical partition only fails") && line.hasSuffix("partition=3 topic=juice.results"))
        #expect(line.contains(" describe --transactional-id juice/i/0/1/2 "))
    }

    @Test(arguments: [WorkerEvent.left, .failed(LogError(.stop, "a test"))])
    func logsHeldBackDeadLettersAtTheEnd(end: WorkerEvent) {
        var log = makeLog()
        for reason in [DeadLetterReason.notJSON, .badID] {
            for count in 1...3 { log.log(letters(count, reason)) }
        }
        log.log(end)
        let logged = [(DeadLetterReason.notJSON, 0), (.badID, 0), (.badID, 4), (.notJSON, 4)].map(Self.line)
        #expect(Array(recorder.all.prefix(4)) == logged)
        log.log(.left)
        #expect(recorder.all.filter { $0.hasPrefix("warning") } == logged)
    }
}
