import JuiceMaker
import JuiceMessages
import Testing

@testable import JuiceEngine

/// How much memory answers take that are more than the menu's numbers.
@Suite struct AnswerMemoryTests {
    private let store = BorrowedText("gangnam")

    /// Remembers answers as they come: this many, and each by what writes it.
    private func remember(
        _ count: Int,
        of kind: CommandKind = .order,
        in memory: inout DuplicateMemory,
        _ write: (Int, AnswerHead, inout OutputBuffer) -> Void
    ) {
        var buffer = OutputBuffer()
        for number in 0..<count {
            BorrowedText.withText("\(number)") { id in
                buffer.removeAll()
                let head = AnswerHead(kind, id: id, store: store, offset: 0)
                write(number, head, &buffer)
                let answer = memory.pack(buffer.unsafeBytes, head)
                let command = CommandFingerprint(kind, store: store, id: id)
                memory.remember(kind, command, answer, sentAt: 0)
            }
        }
    }

    private func repeated(_ number: Int, of kind: CommandKind = .order, in memory: DuplicateMemory) -> String?
    {
        BorrowedText.withText("\(number)") { id in
            let command = CommandFingerprint(kind, store: store, id: id)
            guard let answer = memory.firstAnswer(to: command, sentAt: 0) else { return nil }
            var buffer = OutputBuffer()
            let head = AnswerHead(kind, id: id, store: store, offset: 0)
            return memory.write(answer, head, into: &buffer) ? buffer.text : nil
        }
    }

    @Test func answersInAnotherLanguageTakeAlmostNothing() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1, count: 10_000))
        let korean = AnswerEncoder(menu: .standard, language: .korean)
        remember(5_000, in: &memory) { number, head, buffer in
            let item = OrderItem(juice: number % 7, quantity: number % 100 + 1)
            if var fruits = try? FruitStore(levels: (0..<5).map { 10_000 + $0 * number }) {
                var content = AnswerContent()
                content.make(.single(item), by: JuiceMaker(menu: .standard), from: &fruits)
                korean.write(content, head, into: &buffer)
            }
        }
        #expect(memory.commit(at: 0) == 0)
        #expect(memory.extraBytes < 100_000)
        let text = repeated(4_999, in: memory)
        #expect(text?.contains(#""duplicate":true,"orderId":"4999","store":"gangnam""#) == true)
        #expect(text?.contains("100잔 나왔습니다!") == true)
    }

    /// The longest texts there are, and more of them than there is memory for.
    @Test func rejectionsNeverPushAnythingOut() {
        let window = DuplicateWindow(age: 1, count: 10_000)
        var memory = DuplicateMemory(window: window)
        let encoder = AnswerEncoder(menu: .standard)
        let text = String(repeating: "\u{1}", count: 59)
        remember(2_000, in: &memory) { number, head, buffer in
            let letters = String(decoding: "\(10_000 + number)".utf8.map { $0 + 49 }, as: UTF8.self)
            let rejection = Rejection.unknownJuice(text + letters)
            encoder.write(rejection, head, into: &buffer)
        }
        #expect(memory.commit(at: 0) == 0)
        #expect(memory.count == 2_000)
        #expect(memory.extraBytes <= window.extraBytes / 2 + 1000)
        #expect(repeated(0, in: memory)?.contains(#"\u0001baaaa\"""#) == true)
        #expect(
            repeated(1_999, in: memory)
                == #"{"type":"rejected","duplicate":true,"orderId":"1999","store":"gangnam","offset":0,"#
                + #""reason":"unknownJuice","message":"…"}"#
        )
    }

    /// All of one form, but each with more numbers than there is room for beside it.
    @Test func rejectionsFullOfNumbersDoNotEither() {
        let window = DuplicateWindow(age: 1, count: 30_000)
        var memory = DuplicateMemory(window: window)
        let encoder = AnswerEncoder(menu: .standard)
        remember(29_900, in: &memory) { number, head, buffer in
            let text = (0..<12).map { "\(1000 + number + $0)" }.joined(separator: "a")
            let rejection = Rejection.unknownJuice(text)
            encoder.write(rejection, head, into: &buffer)
        }
        #expect(memory.commit(at: 0) == 0)
        #expect(memory.count == 29_900)
        #expect(memory.extraBytes <= window.extraBytes / 2 + 1000)
        #expect(repeated(0, in: memory)?.contains("1000a1001a1002a") == true)
        #expect(repeated(29_899, in: memory)?.hasSuffix(#""reason":"unknownJuice","message":"…"}"#) == true)
    }

    /// With as many juices as the menu has, and more fruits than any shop.
    @Test func basketsOfTheBuiltInMenuNeverPushAnythingOut() throws {
        let window = DuplicateWindow(age: 1, count: 50_000)
        var memory = DuplicateMemory(window: window)
        let maker = JuiceMaker(menu: .standard)
        let items = (0..<7).map { OrderItem(juice: $0, quantity: 100) }
        var content = AnswerContent()
        for number in 0..<50_000 {
            var fruits = try FruitStore(levels: Array(repeating: FruitStore.maximumLevel, count: 5))
            content.make(.basket(items), by: maker, from: &fruits)
            content.revision = 1_000_000_000 + number
            BorrowedText.withText("\(number)") { id in
                let head = AnswerHead(.order, id: id, store: store, offset: 0)
                let answer = memory.pack(content, orElse: UnsafeRawBufferPointer(start: nil, count: 0), head)
                memory.remember(
                    .order,
                    CommandFingerprint(.order, store: store, id: id),
                    answer,
                    sentAt: 0
                )
            }
        }
        #expect(memory.commit(at: 0) == 0)
        #expect(memory.count == 50_000)
        #expect(memory.extraBytes <= window.extraBytes)
        // The least that their numbers take: 16 of an item each, 25 of the levels, 5 of the revision.
        #expect(memory.extraBytes > 40 * 50_000)
        var again = AnswerContent()
        let first = BorrowedText.withText("49999") { CommandFingerprint(.order, store: store, id: $0) }
        let answer = try #require(memory.firstAnswer(to: first, sentAt: 0))
        #expect(memory.unpack(answer, into: &again, by: maker))
        #expect(again.order == .basket(items) && again.revision == 1_000_049_999)
        #expect((0..<5).map { again.fruits[$0].level } == (0..<5).map { content.fruits[$0].level })
    }

    /// They changed stock, so the oldest are forgotten as a whole rather than told differently.
    @Test func answersOfTooManyNumbersForgetTheOldest() throws {
        let fruits = (0..<40).map { number in
            Fruit(id: "f\(number)", name: LocalizedName(english: "f\(number)", korean: "f\(number)"))
        }
        let name = LocalizedName(english: "f", korean: "f")
        let menu = try Menu(fruits: fruits, juices: [JuiceSpec(id: "f", name: name, recipe: ["f0": 1])])
        let encoder = AnswerEncoder(menu: menu)
        let left = try FruitStore(levels: (0..<40).map { 1_000_000 + $0 })
        let edit = StockEdit(.set, (0..<40).map { StockEdit.Entry(fruit: $0, amount: 1_000_000 + $0) })
        var content = AnswerContent()
        content.fruits.set(edit, left: left)
        let window = DuplicateWindow(age: 1, count: 10_000)
        var memory = DuplicateMemory(window: window)
        remember(7_000, of: .restock, in: &memory) { _, head, buffer in
            encoder.write(content, head, into: &buffer)
        }
        let forgotten = memory.commit(at: 0)
        #expect(forgotten > 0)
        #expect(memory.count == 7_000 - forgotten)
        #expect(memory.extraBytes <= window.extraBytes)
        #expect(memory.extraBytes > window.extraBytes - 1000)
        #expect(repeated(forgotten - 1, of: .restock, in: memory) == nil)
        let text = repeated(forgotten, of: .restock, in: memory)
        #expect(text?.contains(#""f38":1000038,"f39":1000039},"message":"restocked: f0 1000000, "#) == true)
    }
}
