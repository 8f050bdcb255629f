import JuiceMaker

/// What an answer says, in numbers: everything but the command's id and store, and the language.
///
/// The one form between an outcome and its JSON: an encoder writes it, a ``CompactAnswer`` packs it, and a
/// ``RememberedAnswerReader`` reads it. Juices and fruits are indices of the menu.
///
/// Made to be kept and set again for each command, so that it allocates only while it grows to the longest recipe.
public struct AnswerContent: Sendable {
    /// What came of a command. Rejections are not among them: they carry text.
    public enum Kind: Sendable {
        /// An order's juices were made.
        case juiceMade
        /// An order was short of fruit.
        case outOfStock
        /// A restock changed the stock.
        case restocked

        /// The answer's type in JSON.
        var type: StaticString {
            switch self {
            case .juiceMade: "juiceMade"
            case .outOfStock: "outOfStock"
            case .restocked: "restocked"
            }
        }

        /// The kind of the answers of a type, `nil` for rejections and for types of a newer service.
        init?(type: BorrowedText) {
            switch type {
            case BorrowedText(Self.juiceMade.type): self = .juiceMade
            case BorrowedText(Self.outOfStock.type): self = .outOfStock
            case BorrowedText(Self.restocked.type): self = .restocked
            default: return nil
            }
        }

        /// What such an answer answers.
        var command: CommandKind {
            switch self {
            case .juiceMade, .outOfStock: .order
            case .restocked: .restock
            }
        }
    }

    /// A fruit and how many of it there are.
    public struct Level: Hashable, Sendable {
        /// The fruit's index.
        public let fruit: Int
        /// How many there are; negative if there were enough, which an out-of-stock answer does not tell.
        public let level: Int

        /// Whether the answer names the fruit.
        var isTold: Bool { level >= 0 }

        static let enough = -1
    }

    /// What came of the command.
    public private(set) var kind = Kind.restocked
    /// The order that was answered; means nothing for a restock.
    public private(set) var order = JuiceOrder(juice: 0, quantity: 0)
    /// For an order how many ingredients its juice has; for a restock how many fruits it named.
    public private(set) var count = 0
    /// The first ``count`` are in use: emptying an array and appending to it costs several times as much as setting.
    private var levels: [Level] = []

    /// For an order the fruits of the recipe, in its order; for a restock those that it named, in menu order.
    ///
    /// The levels are those after the command. An out-of-stock answer tells those of the fruits that were short.
    public subscript(place: Int) -> Level { levels[place] }

    /// The content of no answer, to be set.
    public init() {}

    /// Becomes the answer to an order.
    ///
    /// - Parameters:
    ///   - order: the order.
    ///   - outcome: what came of it.
    ///   - maker: the maker that carried the order out.
    ///   - store: the store after it.
    public mutating func set(
        _ order: JuiceOrder,
        _ outcome: JuiceMaker.Outcome,
        by maker: JuiceMaker,
        left store: FruitStore
    ) {
        let isMade = outcome == .made
        begin(isMade ? .juiceMade : .outOfStock, order)
        for ingredient in maker.recipe(of: order) {
            let isTold = isMade || !store.has(ingredient, times: order.quantity)
            append(ingredient.fruit, isTold ? store[ingredient.fruit] : Level.enough)
        }
    }

    /// Becomes the answer to a restock. `store` is the store after it.
    public mutating func set(_ edit: StockEdit, left store: FruitStore) {
        begin(.restocked)
        for entry in edit.entries { append(entry.fruit, store[entry.fruit]) }
    }

    mutating func begin(_ kind: Kind, _ order: JuiceOrder = JuiceOrder(juice: 0, quantity: 0)) {
        self.kind = kind
        self.order = order
        count = 0
    }

    mutating func append(_ fruit: Int, _ level: Int) {
        let level = Level(fruit: fruit, level: level)
        if count < levels.count { levels[count] = level } else { levels.append(level) }
        count += 1
    }
}
