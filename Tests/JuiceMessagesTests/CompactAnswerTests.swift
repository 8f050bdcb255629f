import JuiceMaker
import MessageSamples
import SeededRandom
import Testing

@testable import JuiceMessages

@Suite struct CompactAnswerTests {
    static let huge = FruitStore.maximumLevel

    @Test func takes16Bytes() {
        #expect(MemoryLayout<CompactAnswer>.size == 16)
        #expect(MemoryLayout<CompactAnswer>.stride == 16)
        #expect(MemoryLayout<CompactAnswer>.alignment <= 8)
        #expect(MemoryLayout<CompactAnswer?>.size == 16)
    }

    @Test(arguments: Language.allCases)
    func everyKindIsWrittenAsItWasFirst(language: Language) throws {
        let samples = AnswerSamples(language: language)
        let answers = [
            try samples.order(.single(0), levels: [16, 0, 0, 0, 0]),
            try samples.order(.single(4, 3), levels: [30, 3, 0, 0, 0]),
            try samples.order(
                .single(6, 100),
                levels: [0, 0, 0, Self.huge, Self.huge],
                id: "\"\\\n\u{1}",
                store: "강\t남"
            ),
            try samples.order(.single(0), levels: [15, 0, 0, 0, 0]),
            try samples.order(.single(6), levels: [0, 0, 0, 0, 1]),
            try samples.order(.single(6), levels: [0, 0, 0, 0, 2]),
            try samples.order(.single(6), levels: [0, 0, 0, 1, 1]),
            try samples.order(.basket((6, 1)), levels: [0, 0, 0, 1, 2]),
            try samples.order(.basket((2, 2), (6, 4)), levels: [10, 10, 10, 4, 8]),
            try samples.order(.basket((2, 2), (4, 1)), levels: [10, 10, 10, 10, 10], id: "\u{0}"),
            try samples.cancel(.single(6, 100), levels: [0, 0, 0, 0, 999_999_800]),
            try samples.cancel(.basket((2, 2), (4, 1)), levels: [16, 9, 10, 8, 10]),
            try samples.cancel(nil, levels: [0, 0, 0, 0, 0]),
            try samples.restock([(4, 30)]),
            try samples.restock([(0, Self.huge), (3, 0)]),
            try samples.restock((0..<5).map { ($0, 16_383) }, id: "\u{0}"),
        ]
        for answer in answers {
            let compact = try #require(answer.compact, "\(answer.value)")
            #expect(samples.text(compact, of: answer) == answer.value)
            #expect(
                samples.text(compact, of: answer, isDuplicate: true)
                    == answer.value.replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1)
            )
        }
    }

    @Test func whatDoesNotFitIsNotCompact() throws {
        var generator = SeededGenerator(seed: 1)
        let samples = AnswerSamples(menu: try RandomSamples.menu(fruits: 5, &generator))
        // Juice and quantity take a byte each, a level of 1,000,000,000 five of them.
        #expect(try samples.order(.single(0), levels: Array(repeating: Self.huge, count: 5)).compact == nil)
        #expect(try samples.order(.single(0, 100), levels: Array(repeating: 4_900, count: 5)).compact != nil)
        let standard = AnswerSamples()
        #expect(try standard.restock((0..<5).map { ($0, Self.huge) }).compact == nil)
        #expect(try standard.restock((0..<3).map { ($0, Self.huge) }).compact == nil)
        #expect(try standard.restock((0..<2).map { ($0, Self.huge) }).compact != nil)
        #expect(try standard.order(.single(6), levels: Array(repeating: Self.huge, count: 5)).compact != nil)
        #expect(standard.rejection(of: .order).compact == nil)
    }

    @Test func aRestockNamesFruitsByBits() throws {
        var generator = SeededGenerator(seed: 2)
        let samples = AnswerSamples(menu: try RandomSamples.menu(fruits: 70, &generator))
        let last = try samples.restock([(0, 1), (62, 16_383)])
        #expect(samples.text(try #require(last.compact), of: last) == last.value)
        #expect(try samples.restock([(63, 1)]).compact == nil)
        #expect(try samples.restock([(69, 1)]).compact == nil)
    }

    @Test(arguments: Language.allCases, [1, 2, 5, 12])
    func randomAnswersAreWrittenAsTheyWereFirst(language: Language, fruits: Int) throws {
        var generator = SeededGenerator(seed: 20_240_901)
        let menus = [.standard, try RandomSamples.menu(fruits: fruits, &generator)]
        let samples = menus.map { AnswerSamples(menu: $0, language: language) }
        var compacted = 0
        for round in 0..<2_000 {
            let samples = samples[round % 2]
            let answer = try samples.random(&generator)
            guard let compact = answer.compact else { continue }
            compacted += 1
            #expect(samples.text(compact, of: answer) == answer.value)
        }
        #expect(compacted > 1_200)
    }

    @Test func anAnswerOfAnotherMenuDoesNoHarm() throws {
        var generator = SeededGenerator(seed: 3)
        let menus = try [1, 2, 5, 12].map { try RandomSamples.menu(fruits: $0, &generator) } + [.standard]
        let all = menus.map { AnswerSamples(menu: $0) }
        let decoder = AnswerDecoder()
        var refused = 0
        for _ in 0..<5_000 {
            let samples = try #require(all.randomElement(using: &generator))
            let other = try #require(all.randomElement(using: &generator))
            let answer = try samples.random(&generator)
            guard let compact = answer.compact else { continue }
            guard let text = other.text(compact, of: answer) else {
                refused += 1
                continue
            }
            // What it says may be wrong, but it is an answer.
            #expect(throws: Never.self) { try [UInt8](text).withUnsafeBytes { try decoder.decode($0) } }
        }
        #expect(refused > 100)
    }
}

@Suite struct CompactNumbersTests {
    private func compact(_ numbers: [Int]) -> CompactNumbers {
        var compact = CompactNumbers()
        for number in numbers { compact.append(number) }
        return compact
    }

    @Test(
        arguments: [
            [], [0], [1, 2, 3], [127, 128, 16_383, 16_384], [1_000_000_000, 1_000_000_000, 1_000_000_000],
            [Int.max, 0, 0, Int.max >> 35], Array(repeating: 127, count: 15), [0, 0, 0, 5],
            // Zeros at the end take no room.
            Array(repeating: 1, count: 15) + [0, 0, 0],
        ] as [[Int]]
    )
    func numbersAreReadBack(numbers: [Int]) throws {
        let answer = try #require(CompactAnswer(.templated, compact(numbers)))
        var reader = answer.numbers
        #expect(answer.kind == .templated)
        #expect(numbers.map { _ in reader.next() } == numbers)
        #expect((0..<3).map { _ in reader.next() } == [0, 0, 0])
    }

    @Test(
        arguments: [
            Array(repeating: 1, count: 16), Array(repeating: 0, count: 15) + [1], [Int.max, Int.max],
            Array(repeating: 1, count: 14) + [128], [1, -1], [-1], [Int.min],
        ] as [[Int]]
    )
    func whatDoesNotFitIsNoAnswer(numbers: [Int]) {
        #expect(CompactAnswer(.templated, compact(numbers)) == nil)
    }
}
