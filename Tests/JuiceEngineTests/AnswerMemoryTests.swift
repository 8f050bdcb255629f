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
                let head = AnswerHead(kind, id: id, store: store)
                write(number, head, &buffer)
                let answer = memory.keep(buffer.unsafeBytes, head)
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
            let head = AnswerHead(kind, id: id, store: store)
            return memory.write(answer, head, into: &buffer) ? buffer.text : nil
        }
    }

    @Test func answersInAnotherLanguageTakeAlmostNothing() {
        var memory = DuplicateMemory(window: DuplicateWindow(age: 1, count: 10_000))
        let korean = AnswerEncoder(menu: .standard, language: .korean)
        remember(5_000, in: &memory) { number, head, buffer in
            let order = JuiceOrder(juice: number % 7, quantity: number % 100 + 1)
            if let left = try? FruitStore(levels: (0..<5).map { $0 * number }) {
                var content = AnswerContent()
                content.set(order, .made, by: JuiceMaker(menu: .standard), left: left)
                korean.write(content, head, into: &buffer)
            }
        }
        #expect(memory.commit(at: 0) == 0)
        #expect(memory.templateBytes < 100_000)
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
        #expect(memory.templateBytes <= window.templateBytes / 2 + 1000)
        #expect(repeated(0, in: memory)?.contains(#"\u0001baaaa\"""#) == true)
        #expect(
            repeated(1_999, in: memory)
                == #"{"type":"rejected","duplicate":true,"orderId":"1999","store":"gangnam","reason":"unknownJuice","message":"…"}"#
        )
    }

    /// All of one form, but each with more numbers than there is room for beside it.
    @Test func rejectionsFullOfNumbersDoNotEither() {
        let window = DuplicateWindow(age: 1, count: 30_000)
        var memory = DuplicateMemory(window: window)
        let encoder = AnswerEncoder(menu: .standard)
        remember(12_000, in: &memory) { number, head, buffer in
            let text = (0..<12).map { "\(1000 + number + $0)" }.joined(separator: "a")
            let rejection = Rejection.unknownJuice(text)
            encoder.write(rejection, head, into: &buffer)
        }
        #expect(memory.commit(at: 0) == 0)
        #expect(memory.count == 12_000)
        #expect(memory.templateBytes <= window.templateBytes / 2 + 1000)
        #expect(repeated(0, in: memory)?.contains("1000a1001a1002a") == true)
        #expect(repeated(11_999, in: memory)?.hasSuffix(#""reason":"unknownJuice","message":"…"}"#) == true)
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
        content.set(edit, left: left)
        let window = DuplicateWindow(age: 1, count: 10_000)
        var memory = DuplicateMemory(window: window)
        remember(7_000, of: .restock, in: &memory) { _, head, buffer in
            encoder.write(content, head, into: &buffer)
        }
        let forgotten = memory.commit(at: 0)
        #expect(forgotten > 0)
        #expect(memory.count == 7_000 - forgotten)
        #expect(memory.templateBytes <= window.templateBytes)
        #expect(memory.templateBytes > window.templateBytes - 1000)
        #expect(repeated(forgotten - 1, of: .restock, in: memory) == nil)
        let text = repeated(forgotten, of: .restock, in: memory)
        #expect(text?.contains(#""f38":1000038,"f39":1000039},"message":"restocked: f0 1000000, "#) == true)
    }
}
