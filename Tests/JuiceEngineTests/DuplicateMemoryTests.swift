import JuiceMaker
import JuiceMessages
import JuiceSimulation
import SeededRandom
import Testing

@testable import JuiceEngine

/// The memory against a plain model of it, and its limits one by one.
@Suite struct DuplicateMemoryTests {
    private func command(_ id: Int, kind: CommandKind = .order, store: String = "gangnam")
        -> CommandFingerprint
    {
        BorrowedText.withText(store) { store in
            BorrowedText.withText("\(id)") { CommandFingerprint(kind, store: store, id: $0) }
        }
    }

    private let encoder = AnswerEncoder(menu: .standard)
    private let maker = JuiceMaker(menu: .standard)
    private let name = BorrowedText("any")
    private var head: AnswerHead { AnswerHead(.order, id: name, store: name, offset: 0) }

    /// The answer with this number: juice made for the even ones, half of them baskets of more numbers than an entry has room for,
    /// and for the odd ones a rejection with a text of its own.
    private func write(_ number: Int, isDuplicate: Bool = true, into buffer: inout OutputBuffer) {
        let head = isDuplicate ? head.duplicate : head
        if let content = content(number) {
            encoder.write(content, head, into: &buffer)
        } else {
            let rejection = Rejection.unknownJuice(number % 4 == 1 ? "juice \(number)" : Self.letters(number))
            encoder.write(rejection, head, into: &buffer)
        }
    }

    private func content(_ number: Int) -> AnswerContent? {
        guard number % 2 == 0,
            var left = try? FruitStore(levels: Array(repeating: 1_000_000 + number, count: 5))
        else { return nil }
        var content = AnswerContent()
        let items = [1, 2, 4, 6].map { OrderItem(juice: $0, quantity: 1) }
        content.make(number % 4 == 0 ? .basket(items) : .single(items[1]), by: maker, from: &left)
        content.revision = number + 1
        return content
    }

    private static func letters(_ number: Int) -> String {
        String(decoding: String(number, radix: 8).utf8.map { $0 + 49 }, as: UTF8.self)
    }

    private func answer(_ number: Int) -> String {
        var buffer = OutputBuffer()
        write(number, into: &buffer)
        return buffer.text
    }

    /// Remembers the answer with this number.
    private func remember(
        _ answer: Int,
        to command: CommandFingerprint,
        at time: Timestamp,
        in memory: inout DuplicateMemory,
        isRestored: Bool = false
    ) {
        var buffer = OutputBuffer()
        write(answer, isDuplicate: false, into: &buffer)
        let compact =
            content(answer).map { memory.pack($0, orElse: buffer.unsafeBytes, head) }
            ?? memory.pack(buffer.unsafeBytes, head)
        if isRestored {
            memory.restore(.order, command, compact, answeredAt: time)
        } else {
            memory.remember(.order, command, compact, sentAt: time)
        }
    }

    /// What a repeat that was sent at this time is answered.
    private func answer(
        to command: CommandFingerprint,
        at time: Timestamp = 0,
        in memory: DuplicateMemory
    ) -> String? {
        guard let answer = memory.firstAnswer(to: command, sentAt: time) else { return nil }
        var buffer = OutputBuffer()
        var content = AnswerContent()
        if !memory.write(answer, head.duplicate, into: &buffer),
            memory.unpack(answer, into: &content, by: maker)
        {
            encoder.write(content, head.duplicate, into: &buffer)
        }
        return buffer.text
    }

    /// Which of these commands, sent anew at this time, are known.
    private func known(_ ids: ClosedRange<Int>, at time: Timestamp = 0, in memory: DuplicateMemory) -> [Int] {
        ids.filter { answer(to: command($0), at: time, in: memory) != nil }
    }

    @Test func kindStoreAndIDTellCommandsApart() {
        var memory = DuplicateMemory(window: .standard)
        remember(1, to: command(1), at: 0, in: &memory)
        #expect(answer(to: command(1), at: 0, in: memory) == answer(1))
        #expect(answer(to: command(1, kind: .restock), at: 0, in: memory) == nil)
        #expect(answer(to: command(1, store: "jamsil"), at: 0, in: memory) == nil)
        #expect(answer(to: command(2), at: 0, in: memory) == nil)
    }

    @Test func storeAndIDDoNotRunIntoEachOther() {
        let joined = BorrowedText.withText("ab") { store in
            BorrowedText.withText("c") { CommandFingerprint(.order, store: store, id: $0) }
        }
        let other = BorrowedText.withText("a") { store in
            BorrowedText.withText("bc") { CommandFingerprint(.order, store: store, id: $0) }
        }
        #expect(joined != other)
    }

    @Test func theOldestAreForgottenBeyondTheCount() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 3))
        for id in 1...5 { remember(id, to: command(id), at: 0, in: &memory) }
        // Until the commit an undo may still need the oldest.
        #expect(memory.count == 5)
        memory.commit(at: 0)
        #expect(known(1...5, in: memory) == [3, 4, 5])
    }

    /// The window's age, when the repeat was sent after the first, and whether it is known. Times are rounded to 16 ms here,
    /// so that up to 32 ms more are within the window.
    @Test(
        arguments: [
            (1000, 0, true), (1000, 999, true), (1000, 1000, true), (1000, 1032, false),
            (1000, 1_000_000, false),
            (1000, -5000, true), (1000, -604_800_000, true), (0, 0, true), (0, 32, false),
            (0, 10_000_000_000, false), (31_536_000_000, 31_536_000_000, true), (3_600_000, 3_600_000, true),
            (3_600_000, 3_604_096, false),
        ] as [(Timestamp, Timestamp, Bool)]
    )
    func aRepeatIsKnownByTheTimeBetweenTheTwo(age: Timestamp, later: Timestamp, isKnown: Bool) {
        for first in [1_700_000_000_000, 1_700_000_001_999, 0] as [Timestamp] {
            var memory = DuplicateMemory(window: DuplicateWindow(age: age, count: 100))
            remember(1, to: command(1), at: first, in: &memory)
            #expect((answer(to: command(1), at: first + later, in: memory) != nil) == isKnown)
        }
    }

    @Test func whatIsTooOldIsRememberedAnew() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 4))
        remember(1, to: command(1), at: 0, in: &memory)
        memory.commit(at: 0)
        remember(2, to: command(1), at: 5000, in: &memory)
        #expect(answer(to: command(1), at: 5500, in: memory) == answer(2))
        // It was not carried out anew after all.
        memory.undo()
        #expect(answer(to: command(1), at: 500, in: memory) == answer(1))
        #expect(answer(to: command(1), at: 5500, in: memory) == nil)
        for round in 2...3 {
            remember(round, to: command(1), at: Timestamp(round) * 5000, in: &memory)
        }
        memory.undo()
        #expect(answer(to: command(1), at: 500, in: memory) == answer(1))
        remember(4, to: command(1), at: 5000, in: &memory)
        memory.commit(at: 5000)
        // The earlier answer leaves the queue, and not the later one with it.
        for id in 2...4 { remember(id, to: command(id), at: 5000, in: &memory) }
        memory.commit(at: 5000)
        #expect(memory.count == 4)
        #expect(answer(to: command(1), at: 5000, in: memory) == answer(4))
    }

    @Test func anUndoForgetsWhatIsNotCommitted() {
        var memory = DuplicateMemory(window: .standard)
        remember(1, to: command(1), at: 0, in: &memory)
        memory.commit(at: 0)
        remember(2, to: command(2), at: 0, in: &memory)
        memory.undo()
        #expect(answer(to: command(1), at: 0, in: memory) == answer(1))
        #expect(answer(to: command(2), at: 0, in: memory) == nil)
        remember(3, to: command(2), at: 0, in: &memory)
        #expect(answer(to: command(2), at: 0, in: memory) == answer(3))
    }

    @Test func aCommandReadBackTwiceHasItsLaterAnswer() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1000, count: 3))
        for (id, text) in [(1, 1), (2, 2), (1, 3), (4, 4)] {
            remember(text, to: command(id), at: 0, in: &memory, isRestored: true)
        }
        memory.commit(at: 0)
        #expect(answer(to: command(1), at: 0, in: memory) == answer(3))
        #expect(answer(to: command(2), at: 0, in: memory) == answer(2))
    }

    @Test func aWindowOfNothingRemembersNothing() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 0, count: 0))
        remember(1, to: command(1), at: 0, in: &memory)
        memory.commit(at: 0)
        #expect(memory.count == 0 && answer(to: command(1), at: 0, in: memory) == nil)
    }

    @Test func aMillionCommandsTakeFortyTwoBytesEach() throws {
        var memory = DuplicateMemory(window: .standard)
        let kept = try #require(content(10).flatMap { CompactAnswer($0) })
        // As many as there are, and a batch that is not committed yet.
        for id in 0..<1_010_000 { memory.remember(.order, command(id), kept, sentAt: 0) }
        memory.commit(at: 0)
        #expect(memory.count == 1_000_000)
        #expect(memory.firstAnswer(to: command(10_000), sentAt: 0) == kept)
        #expect(answer(to: command(9_999), at: 0, in: memory) == nil)
        #expect(memory.footprint <= 42 * memory.count)
    }

    /// Thousands of remembered, committed, undone and forgotten commands, through several growths of the ring.
    @Test(arguments: 0..<20) func itDoesWhatAPlainModelDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let window = DuplicateWindow(age: 1 << 20, count: [5, 50, 700][Int(seed % 3)])
        var memory = DuplicateMemory(window: window)
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
                memory.commit(at: 0)
                if model.count > window.count { model.removeFirst(model.count - window.count) }
                committed = model.count
            default:
                let (id, time) = (Int.random(in: 0..<2000, using: &random), time())
                guard first(id, time) == nil else { continue }
                remember(text, to: command(id), at: time, in: &memory)
                model.append((id, text, time))
            }
            let (probe, time) = (Int.random(in: 0..<2000, using: &random), time())
            #expect(answer(to: command(probe), at: time, in: memory) == first(probe, time).map { answer($0) })
            #expect(memory.count == model.count)
        }
        // Templates go with the last answer that needs them.
        for id in 0...window.count {
            remember(2, to: command(5000 + id), at: 0, in: &memory)
            memory.commit(at: 0)
        }
        #expect(memory.extraBytes == 0)
    }
}
