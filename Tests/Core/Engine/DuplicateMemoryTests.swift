import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceEngine

/// A duplicate memory, and the journal that holds its answers.
private final class JournalledMemory {
    var memory: DuplicateMemory
    /// What is in the journal, and what the open transaction adds to it.
    private var journal: [String] = []
    private var open: [String] = []
    private(set) var readBackCount = 0

    init(window: DuplicateWindow, valueLimit: Int = 1 << 20) {
        memory = DuplicateMemory(window: window, valueLimit: valueLimit)
    }

    /// The outcome that belongs to an answer.
    private static func was(_ answer: Int) -> FormerOutcome { FormerOutcome.allCases[answer % FormerOutcome.allCases.count] }

    func remember(_ answer: Int, to command: CommandFingerprint, at time: Timestamp) {
        let value = "answer \(answer)"
        [UInt8](value.utf8).withUnsafeBytes {
            _ = memory.remember(.order, command, $0, at: open.count, was: Self.was(answer), sentAt: time)
        }
        open.append(value)
    }

    func restore(_ answer: Int, to command: CommandFingerprint) {
        let value = "answer \(answer)"
        [UInt8](value.utf8).withUnsafeBytes {
            memory.restore(command, $0, at: Offset(journal.count), was: Self.was(answer), sentAt: 0)
        }
        journal.append(value)
    }

    func commit() {
        memory.finishRestore()
        var records: [Range<Offset>] = []
        // Before each half: a note, a marker, or another program's record.
        for half in [open.prefix(open.count / 2), open.dropFirst(open.count / 2)] where !half.isEmpty {
            journal += ["-"]
            records.append(Offset(journal.count)..<Offset(journal.count + half.count))
            journal += half
        }
        memory.commit(records)
        open = []
    }

    func undo() {
        memory.undo()
        open = []
    }

    /// The answer to a repeat that was sent at this time; nil if there is none, -1 if its outcome is wrong.
    func answer(to command: CommandFingerprint, at time: Timestamp = 0) -> Int? {
        guard let answer = memory.firstAnswer(to: command, sentAt: time) else { return nil }
        if !memory.hasValue(of: answer) {
            memory.beginReadBack()
            let value = journal.indices.contains(Int(answer.offset)) ? journal[Int(answer.offset)] : "-"
            let isAdded = [UInt8](value.utf8).withUnsafeBytes {
                memory.addReadBack($0, at: answer.offset, of: command, isWanted: true)
            }
            guard isAdded else { return nil }
            readBackCount += 1
        }
        let text = memory.withValue(of: answer) { String(decoding: $0, as: UTF8.self) } ?? ""
        guard let number = text.split(separator: " ").last.flatMap({ Int($0) }), answer.was == Self.was(number)
        else { return -1 }
        return number
    }
}

/// The memory against a plain model of it, and its limits one by one.
@Suite struct DuplicateMemoryTests {
    private func command(_ id: Int, kind: CommandKind = .order, store: String = "gangnam") -> CommandFingerprint {
        BorrowedText.withText(store) { store in BorrowedText.withText("\(id)") { CommandFingerprint(kind, store: store, id: $0) } }
    }

    @Test func kindStoreAndIDTellCommandsApart() {
        let commands = [
            command(1), command(1, kind: .restock), command(1, store: "jamsil"), command(2), command(11, store: "a"),
            command(1, store: "a1"),
        ]
        for (index, one) in commands.enumerated() { #expect(commands.firstIndex(of: one) == index) }
    }

    /// The window's age, how long after the first the repeat was sent, and whether it is known. Times are rounded to 16 ms, so
    /// the window may be up to 32 ms longer.
    @Test(
        arguments: [
            (1000, 0, true), (1000, 999, true), (1000, 1000, true), (1000, 1032, false),
            (1000, 1_000_000, false),
            (1000, -5000, true), (1000, -604_800_000, true), (0, 0, true), (0, 32, false),
            (0, 10_000_000_000, false), (31_536_000_000, 31_536_000_000, true), (3_600_000, 3_600_000, true),
            (3_600_000, 3_604_096, false),
            // Clocks that are wrong by decades.
            (1000, 1_700_000_000_000, false), (1000, -1_700_000_000_000, true), (1000, 17_179_869_184, false),
        ] as [(Timestamp, Timestamp, Bool)]
    )
    func aRepeatIsKnownByTheTimeBetweenTheTwo(age: Timestamp, later: Timestamp, isKnown: Bool) {
        for first in [1_700_000_000_000, 1_700_000_001_999, 0, 63_072_000_000] as [Timestamp] {
            let memory = JournalledMemory(window: DuplicateWindow(age: age, count: 100))
            memory.remember(1, to: command(1), at: first)
            #expect((memory.answer(to: command(1), at: first + later) != nil) == isKnown)
        }
    }

    /// A restored answer is indexed a few restores later, when a small window may already have evicted it.
    @Test(arguments: [0, 1, 3, 7, 8, 9, 100]) func findsRestoredAnswersWithinTheWindow(count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        for length in [1, 5, 8, 9, 40, 300] {
            let memory = JournalledMemory(window: DuplicateWindow(age: 1000, count: count))
            let ids = (0..<length).map { _ in Int.random(in: 0..<30, using: &generator) }
            for (answer, id) in ids.enumerated() { memory.restore(answer, to: command(id)) }
            memory.commit()
            for id in 0..<30 {
                let last = ids.lastIndex(of: id).flatMap { $0 >= length - count ? $0 : nil }
                #expect(memory.answer(to: command(id), at: 0) == last)
            }
        }
    }

    @Test func aMillionCommandsTakeThirtyBytesEach() {
        var memory = DuplicateMemory(window: .standard, valueLimit: 0)
        let value = UnsafeRawBufferPointer(start: nil, count: 0)
        // As many as the window holds, and an uncommitted batch.
        for id in 0..<1_010_000 { memory.remember(.order, command(id), value, at: id, was: .made, sentAt: 0) }
        memory.commit([1 << 40..<1 << 40 + 1_010_000])
        #expect(memory.count == 1_000_000)
        #expect(memory.firstAnswer(to: command(10_000), sentAt: 0)?.offset == Offset(1 << 40 + 10_000))
        #expect(memory.firstAnswer(to: command(1_009_999), sentAt: 0)?.offset == Offset(1 << 40 + 1_009_999))
        #expect(memory.firstAnswer(to: command(9_999), sentAt: 0)?.offset == nil)
        #expect(memory.footprint <= 30 * memory.count)
    }

    /// Offsets are kept in 4 bytes, so a distant answer is forgotten rather than looked up at the wrong place.
    @Test func answersTooFarApartAreForgotten() {
        var memory = DuplicateMemory(window: .standard, valueLimit: 0)
        let value = UnsafeRawBufferPointer(start: nil, count: 0)
        for (id, start) in [5, 1 << 30, 1 << 31 + 4, 1 << 31 + 6, 1 << 33].enumerated() {
            memory.remember(.order, command(id), value, at: 0, was: .made, sentAt: 0)
            memory.commit([Offset(start)..<Offset(start + 1)])
            #expect(memory.firstAnswer(to: command(id), sentAt: 0)?.offset == Offset(start))
            let known = (0...id).filter { memory.firstAnswer(to: command($0), sentAt: 0) != nil }
            #expect(known == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [4]][id])
        }
    }

    @Test func valuesThatAreReadBackBelongToTheirCommands() {
        let memory = JournalledMemory(window: .standard, valueLimit: 0)
        for id in 1...3 { memory.remember(id, to: command(id), at: 0) }
        memory.commit()
        for (id, offset, isAnswer) in [(1, 1, true), (1, 2, false), (2, 1, false), (4, 1, false)] {
            let isAdded = [UInt8]("text".utf8).withUnsafeBytes {
                memory.memory.addReadBack($0, at: Offset(offset), of: command(id), isWanted: true)
            }
            #expect(isAdded == isAnswer)
        }
    }

    /// Through several turns of the ring, with times that go up and down.
    @Test(arguments: [5, 3_000, 6_000]) func theOldestAnswerOfATimeIsFound(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        var memory = DuplicateMemory(window: DuplicateWindow(age: 16_000, count: count), valueLimit: 0)
        var times: [Timestamp] = []
        for round in 0..<30 {
            let first = times.count
            for _ in 0..<count / 2 {
                let time = Timestamp(times.count * 16) + Timestamp.random(in: -20_000...0, using: &random) * 16
                [UInt8]().withUnsafeBytes {
                    _ = memory.remember(.order, command(times.count), $0, at: times.count - first, was: .made, sentAt: max(0, time))
                }
                times.append(max(0, time))
            }
            memory.commit([Offset(first)..<Offset(times.count)])
            let known = max(0, times.count - count)..<times.count
            for time in [0, times.last ?? 0, (times.last ?? 0) + 16, Timestamp(round * 16 * count / 2), 1 << 30] {
                let expected = known.first { times[$0] >> 4 >= time >> 4 }
                #expect(memory.oldest(since: time) == expected.map(Offset.init), "\(round) \(time)")
            }
            let middle = Offset.random(in: Offset(known.lowerBound)...Offset(known.upperBound), using: &random)
            let last = Int(middle) - 1
            #expect(
                memory.lastTime(before: middle) == (known.contains(last) ? (times[last] >> 4) << 4 : nil))
        }
    }

    /// Thousands of commands are remembered, committed, undone and evicted, while the ring grows several times, with nearly none,
    /// some or all of the answers in memory.
    @Test(arguments: 0..<20) func itDoesWhatAPlainModelDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let window = DuplicateWindow(age: 1 << 20, count: [5, 50, 700][Int(seed % 3)])
        let memory = JournalledMemory(window: window, valueLimit: [0, 300, 1 << 20][Int(seed / 3 % 3)])
        var model: [(id: Int, text: Int, time: Timestamp)] = []
        var committed = 0
        // In whole units, so that nothing is rounded.
        func time() -> Timestamp { Timestamp.random(in: 0...4096, using: &random) << 10 }
        func first(_ id: Int, _ time: Timestamp) -> Int? {
            model.last { $0.id == id }.flatMap { time - $0.time <= window.age ? $0.text : nil }
        }
        for text in 0..<4000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<5:
                memory.undo()
                model.removeSubrange(committed...)
            case 5..<20:
                memory.commit()
                if model.count > window.count { model.removeFirst(model.count - window.count) }
                committed = model.count
            default:
                let (id, time) = (Int.random(in: 0..<2000, using: &random), time())
                guard first(id, time) == nil else { continue }
                memory.remember(text, to: command(id), at: time)
                model.append((id, text, time))
            }
            let (probe, time) = (Int.random(in: 0..<2000, using: &random), time())
            let answer = memory.answer(to: command(probe), at: time)
            // An answer of the open transaction can be read back only after the commit.
            let isOpen = first(probe, time).map { text in model[committed...].contains { $0.text == text } } ?? false
            #expect(answer == first(probe, time) || isOpen && answer == nil)
            #expect(memory.memory.count == model.count)
        }
        #expect(memory.readBackCount > 0 || window.count == 5 || seed / 3 % 3 == 2)
    }
}
