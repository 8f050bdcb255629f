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
        summary.deadLetters = count
        let position = InputPosition(topic: .orders, partition: 0, offset: 7)
        summary.firstDeadLetter = DeadLetter(position: position, reason: reason)
        return .committed(summary)
    }

    private static func line(_ reason: DeadLetterReason, and others: Int) -> String {
        "warning put aside as a dead letter: \(reason.message)" + (others == 0 ? "" : ", and \(others) more after it")
            + " code=\(reason.code) offset=7 partition=0 topic=juice.orders"
    }

    @Test func deadLettersAreToldOnceASecondWithACount() {
        var log = makeLog()
        for _ in 0..<1000 { log.log(letters(5)) }
        #expect(recorder.all == [Self.line(.notJSON, and: 4)])
        clock.now += .milliseconds(999)
        log.log(letters(1))
        #expect(recorder.all.count == 1)
        clock.now += .milliseconds(1)
        log.log(letters(2, .missingID))
        #expect(recorder.all.last == Self.line(.notJSON, and: 4997))
        clock.now += .seconds(1)
        log.log(letters(1, .badID))
        #expect(recorder.all.last == Self.line(.badID, and: 0))
        #expect(recorder.all.count == 3)
    }

    @Test(arguments: [WorkerEvent.left, .failed(LogError(.stop, "a test"))])
    func whatWasHeldBackIsToldAtTheEnd(end: WorkerEvent) {
        var log = makeLog()
        log.log(letters(1))
        log.log(letters(2, .missingID))
        log.log(letters(3, .badID))
        log.log(end)
        let told = [Self.line(.notJSON, and: 0), Self.line(.missingID, and: 4)]
        #expect(Array(recorder.all.prefix(2)) == told)
        log.log(.left)
        #expect(recorder.all.filter { $0.hasPrefix("warning") } == told)
    }
}
