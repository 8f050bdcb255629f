import JuiceMaker
import JuiceMessages

/// Random texts and menus, full of edge cases.
public enum RandomSamples {
    /// A text of 1 to 24 characters, many of which JSON must escape.
    public static func text(_ generator: inout SeededGenerator) -> String {
        let characters = [Character]("abc-019 \"\\/\n\r\t\u{0}\u{1f}\u{7f}é강🥝,:{}[]")
        let length = Int.random(in: 1...24, using: &generator)
        return String((0..<length).compactMap { _ in characters.randomElement(using: &generator) })
    }

    /// A menu of this many fruits. Its first juice takes all of them.
    public static func menu(fruits count: Int, _ generator: inout SeededGenerator) throws -> Menu {
        let fruits = (0..<count).map { Fruit(id: "fruit\"\($0)", name: LocalizedName(english: "fruit \($0)", korean: "과일 \($0)")) }
        let recipes = (0..<4).map { index in
            let size = index == 0 ? count : Int.random(in: 1...count, using: &generator)
            return fruits.shuffled(using: &generator).prefix(size).map {
                (fruit: $0.id, amount: Int.random(in: 1...50, using: &generator))
            }
        }
        let juices = recipes.enumerated().map { index, recipe in
            JuiceSpec(
                id: "juice\\\(index)", name: LocalizedName(english: "juice \(index)", korean: "쥬스 \(index)"),
                aliases: index == 1 ? ["alias \"\(index)\"", "별명"] : [], recipe: JuiceSpec.Recipe(recipe))
        }
        return try Menu(fruits: fruits, juices: juices)
    }

    /// A note of the journal.
    public static func note(_ generator: inout SeededGenerator) -> JournalNote {
        let partition = Bool.random(using: &generator) ? number(&generator) as Int32 : nil
        let place = InputPlace(topic: topic(&generator), partition: partition, offset: number(&generator))
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: return .forwarded(place, to: number(&generator))
        case 1: return .deadLetter(place, code: text(&generator))
        case 2: return .copy(place)
        case 3:
            return .position(
                JournalPosition(
                    next: next(&generator), added: offsets(&generator), stock: number(&generator), claim: number(&generator),
                    ids: texts(&generator), forwarded: offsets(&generator)))
        case 4:
            return .claim(
                JournalClaim(
                    ids: texts(&generator), since: number(&generator), group: text(&generator), instance: text(&generator),
                    partitions: max(1, number(&generator)), next: next(&generator)))
        default: return .anchored(place, by: text(&generator), reason: Bool.random(using: &generator) ? text(&generator) : nil)
        }
    }

    /// A partition or an offset: small or large.
    public static func number<Number: FixedWidthInteger>(_ generator: inout SeededGenerator) -> Number {
        Number.random(in: 0...(Bool.random(using: &generator) ? 100 : .max), using: &generator)
    }

    private static func topic(_ generator: inout SeededGenerator) -> InputTopic {
        Bool.random(using: &generator) ? .orders : .restocks
    }

    private static func texts(_ generator: inout SeededGenerator) -> [String] {
        (0..<Int.random(in: 0...3, using: &generator)).map { _ in text(&generator) }
    }

    private static func next(_ generator: inout SeededGenerator) -> [InputTopic: Int64] {
        var next: [InputTopic: Int64] = [:]
        for topic in InputTopic.allCases where Bool.random(using: &generator) { next[topic] = number(&generator) }
        return next
    }

    private static func offsets(_ generator: inout SeededGenerator) -> [InputPartition: Int64] {
        var offsets: [InputPartition: Int64] = [:]
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            let partition = InputPartition(topic: topic(&generator), partition: number(&generator))
            offsets[partition] = number(&generator)
        }
        return offsets
    }
}
