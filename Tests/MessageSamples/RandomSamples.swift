import JuiceMaker
import SeededRandom

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
        let fruits = (0..<count).map {
            Fruit(id: "fruit\"\($0)", name: LocalizedName(english: "fruit \($0)", korean: "과일 \($0)"))
        }
        let recipes = (0..<4).map { index in
            let size = index == 0 ? count : Int.random(in: 1...count, using: &generator)
            return fruits.shuffled(using: &generator).prefix(size).map {
                (fruit: $0.id, amount: Int.random(in: 1...50, using: &generator))
            }
        }
        let juices = recipes.enumerated().map { index, recipe in
            JuiceSpec(
                id: "juice\\\(index)",
                name: LocalizedName(english: "juice \(index)", korean: "쥬스 \(index)"),
                aliases: index == 1 ? ["alias \"\(index)\"", "별명"] : [],
                recipe: JuiceSpec.Recipe(recipe)
            )
        }
        return try Menu(fruits: fruits, juices: juices)
    }
}
