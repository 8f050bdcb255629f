import Kafka
import Testing

@testable import JuiceRestockBot

/// The bot's state machine, call by call on a scripted log.
struct RestockBotTests {
    /// One partition with answers that can be read again.
    private final class ScriptedLog: AnswerLog {
        static let partition = TopicPartition(topic: "juice.results", partition: 0)

        var events: [AnswerPoll] = []
        var answers: [String] = []
        var committed: Offset?
        private var next: Offset?
        private(set) var sent: [[Refill]] = []
        private(set) var calls: [String] = []
        /// The calls that fail once, and how.
        var failures: [String: KafkaError] = [:]
        private var lent: [UnsafeMutableRawBufferPointer] = []
        /// Whether polls report the end.
        var reportsEnd = true

        deinit { lent.forEach { $0.deallocate() } }

        private func call(_ name: String, _ text: String = "") throws(KafkaError) {
            calls.append(name + text)
            if let error = failures.removeValue(forKey: name) { throw error }
        }

        func poll() throws(KafkaError) -> AnswerPoll {
            if let error = failures.removeValue(forKey: "poll") { throw error }
            if !events.isEmpty {
                next = nil
                return events.removeFirst()
            }
            guard let start = next else { return .answers([], ends: [:]) }
            let records = answers.enumerated().dropFirst(Int(start)).map { offset, text in
                let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
                bytes.copyBytes(from: text.utf8)
                lent.append(bytes)
                return (Self.partition, Offset(offset), Int64(offset) * 1000, UnsafeRawBufferPointer(bytes)) as AnswerRecord
            }
            next = Offset(answers.count)
            return .answers(records, ends: reportsEnd ? [Self.partition: Offset(answers.count)] : [:])
        }

        func positions() throws(KafkaError) -> Positions? {
            try call("positions")
            return [Self.partition: committed ?? 0]
        }

        func start(at positions: Positions) throws(KafkaError) {
            next = positions[Self.partition]
            try call("start", " \(next ?? -1)")
        }

        func send(_ refills: [Refill]) throws(KafkaError) {
            sent.append(refills)
            try call("send", " " + refills.map(\.id).joined(separator: " "))
        }

        func commit(_ positions: Positions) throws(KafkaError) {
            try call("commit", " \(positions[Self.partition] ?? -1)")
            committed = positions[Self.partition]
        }

        func leave() { calls.append("leave") }
    }

    private static let timeout = KafkaError(code: .timedOut, isRetriable: true)
    private static let kiwi =
        #"{"type":"juiceMade","orderId":"1","store":"a","offset":1,"juice":"kiwi","quantity":1,"used":{"kiwi":3},"#
        + #""left":{"kiwi":1},"message":"m"}"#

    private static func refilled(_ id: String, kiwi: Int = 30) -> String {
        #"{"type":"restocked","restockId":"\#(id)","store":"a","offset":1,"left":{"kiwi":\#(kiwi)},"message":"m"}"#
    }

    /// A bot with the partition assigned, and its events.
    private func bot(_ log: ScriptedLog) throws -> (RestockBot<ScriptedLog>, Recorder) {
        log.events = [.rebalanced]
        let recorder = Recorder()
        let rules = try #require(RefillRules(low: 5, target: 30))
        var bot = RestockBot(log: log, rules: rules, group: "bot") {
            recorder.events.append("\($0)".prefix { $0 != "(" } + "")
        }
        _ = bot.step()
        return (bot, recorder)
    }

    private final class Recorder { var events: [String] = [] }

    @Test func itDecidesAndSendsInTheStepThatShowsTheEnd() throws {
        let log = ScriptedLog()
        log.answers = [Self.kiwi]
        log.reportsEnd = false
        var (bot, recorder) = try bot(log)
        _ = bot.step()
        #expect(log.calls == ["positions", "start 0"])
        _ = bot.step()
        #expect(log.sent.isEmpty, "there may be more to read")
        #expect(!bot.isSettled)
        log.reportsEnd = true
        _ = bot.step()
        #expect(log.calls.last == "send bot/0-0")
        #expect(log.sent.first?.first?.time == 0)
        #expect(bot.underway == 1)
        #expect(!bot.isSettled)
        _ = bot.step()
        #expect(log.sent.count == 1, "it is waited for")

        log.answers.append(Self.refilled("bot/0-0"))
        _ = bot.step()
        #expect(bot.isSettled)
        #expect(recorder.events == ["watching", "sent", "answered"])
    }

    @Test func aRestartedBotDecidesTheSame() throws {
        let log = ScriptedLog()
        log.answers = [#"{"type":"copy","topic":"restocks","offset":7}"#, Self.kiwi]
        for _ in 0..<3 {
            var (bot, _) = try bot(log)
            for _ in 0..<3 { _ = bot.step() }
            bot.commitAndLeave()
            #expect(log.committed == 1, "the unanswered refill holds the position back")
        }
        #expect(log.sent.map { $0.map(\.id) } == Array(repeating: ["bot/0-1"], count: 3))
        #expect(Set(log.sent.joined().map(\.time)) == [1000])

        log.answers += [Self.refilled("bot/0-1")]
        var (bot, _) = try bot(log)
        for _ in 0..<3 { _ = bot.step() }
        bot.commitAndLeave()
        #expect(log.sent.count == 3)
        #expect(log.committed == 3)
        #expect(log.calls.suffix(3) == ["start 1", "commit 3", "leave"])
    }

    @Test func positionsAreCommittedAtIntervals() throws {
        let log = ScriptedLog()
        var (bot, _) = try bot(log)
        let start = ContinuousClock.now
        _ = bot.step(now: start)
        log.answers = [Self.refilled("manual")]
        _ = bot.step(now: start + .seconds(4))
        #expect(log.committed == nil)
        _ = bot.step(now: start + .seconds(6))
        #expect(log.committed == 1)
        log.answers.append(Self.kiwi)
        _ = bot.step(now: start + .seconds(12))
        _ = bot.step(now: start + .seconds(18))
        #expect(log.calls.count { $0.hasPrefix("commit") } == 1, "nothing moved")
    }

    /// Every failed call is handled alike.
    @Test(arguments: ["send", "commit", "positions", "start", "poll"])
    func afterAnyTroubleItReadsAgainFromTheCommittedPositions(call: String) throws {
        let log = ScriptedLog()
        log.committed = 0
        log.answers = [Self.refilled("manual", kiwi: 9), Self.kiwi]
        var (bot, recorder) = try bot(log)
        log.failures = [call: Self.timeout]
        let start = ContinuousClock.now
        var pauses: [Duration] = []
        for second in 0..<20 {
            if case .backOff(let pause) = bot.step(now: start + .seconds(second)) { pauses.append(pause) }
        }
        #expect(pauses == [.milliseconds(10)])
        #expect(recorder.events.filter { $0 == "lost" || $0 == "recovered" } == ["lost", "recovered"])
        #expect(Set(log.sent.joined().map(\.id)) == ["bot/0-1"])
        #expect(log.committed == 1)
        if call == "send" {
            #expect(log.calls.prefix(6) == ["positions", "start 0", "send bot/0-1", "positions", "start 0", "send bot/0-1"])
        }
    }

    @Test func anUnrecoverableErrorEndsIt() throws {
        let log = ScriptedLog()
        log.failures = ["positions": KafkaError(code: .groupAuthorizationFailed)]
        var (bot, _) = try bot(log)
        guard case .failed(let error) = bot.step() else {
            Issue.record("it went on")
            return
        }
        #expect(error.code == .groupAuthorizationFailed)
    }

    @Test func aBotThatLosesItsPartitionsForgetsTheirState() throws {
        let log = ScriptedLog()
        log.answers = [Self.kiwi]
        var (bot, _) = try bot(log)
        for _ in 0..<2 { _ = bot.step() }
        #expect(bot.underway == 1)
        log.events = [.rebalanced]
        _ = bot.step()
        #expect(bot.underway == 0)
        #expect(!bot.isSettled)
        bot.commitAndLeave()
        #expect(log.committed == nil, "they are another's")
    }
}
