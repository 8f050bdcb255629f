import JuiceMaker
import JuiceMessages

/// The answer of `GET /api/menu`: the menu, the stores to choose from, and what the page may do.
struct MenuAnswer: Encodable {
    private struct Text: Encodable {
        let en: String
        let ko: String

        init(_ name: LocalizedName) { (en, ko) = (name.english, name.korean) }
    }

    private struct FruitAnswer: Encodable {
        let id: String
        let name: Text
    }

    private struct JuiceAnswer: Encodable {
        let id: String
        let name: Text
        let aliases: [String]
        let recipe: [FruitAmount]
    }

    private let fruits: [FruitAnswer]
    private let juices: [JuiceAnswer]
    private let language: String
    /// The stores to list first.
    private let stores: [String]
    /// Whether no other stores are shown.
    private let hasFixedStores: Bool
    private let canEditStock: Bool
    /// How long an order can be cancelled, in seconds.
    private let duplicateWindow: Int64

    init(_ configuration: KioskConfiguration) {
        let menu = configuration.menu
        fruits = menu.fruits.map { FruitAnswer(id: $0.id, name: Text($0.name)) }
        juices = menu.juices.map { juice in
            JuiceAnswer(
                id: juice.id, name: Text(juice.name), aliases: juice.aliases,
                recipe: juice.recipe.map { FruitAmount(fruit: menu.fruits[$0.fruit].id, amount: $0.amount) })
        }
        language = configuration.language.rawValue
        stores = configuration.rule.named
        hasFixedStores = configuration.rule.isFixed
        canEditStock = configuration.staffToken != nil
        duplicateWindow = configuration.duplicateWindow.components.seconds
    }
}
