import JuiceMaker

/// Writes the answers and the stock records of one menu, as JSON without spaces.
///
/// Every method appends one record to a buffer; with a buffer that has grown to its size, answering an order
/// takes no memory. A `duplicate` answer, given again for a repeated command, has `"duplicate":true` after
/// its type.
public struct AnswerEncoder: Sendable {
    /// The language of the messages.
    public let language: Language

    let phrasebook: Phrasebook
    let fragments: Fragments
    let fruits: [FruitFragments]
    let juices: [JuiceFragments]
    // Those of all juices, one behind the other.
    let ingredients: [IngredientFragments]
    let phrases: PhraseFragments

    /// An encoder of answers about this menu's juices and fruits, with messages in this language.
    public init(menu: Menu, language: Language = .english) {
        self.language = language
        let phrasebook = Phrasebook(menu: menu, language: language)
        var fragments = Fragments()
        var juices: [JuiceFragments] = []
        var ingredients: [IngredientFragments] = []
        for (index, juice) in menu.juices.enumerated() {
            let first = ingredients.count
            for ingredient in juice.recipe {
                let isFirst = ingredients.count == first
                ingredients.append(IngredientFragments(ingredient, isFirst: isFirst, menu, &fragments))
            }
            juices.append(JuiceFragments(index, first..<ingredients.count, phrasebook, &fragments))
        }
        fruits = menu.fruits.indices.map { FruitFragments(fruit: $0, phrasebook, &fragments) }
        phrases = PhraseFragments(phrasebook, &fragments)
        self.juices = juices
        self.ingredients = ingredients
        self.fragments = fragments
        self.phrasebook = phrasebook
    }

    /// Answers an order whose juices were made, `left` being the store after it.
    public func juiceMade(
        _ order: OrderCommand,
        store: BorrowedText,
        left: FruitStore,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        juiceMade(
            AnswerHead(id: order.id, store: store, isDuplicate: duplicate),
            juice: order.juice,
            quantity: order.quantity,
            into: &buffer
        ) { left[$0.fruit] }
    }

    /// Answers an order that was short of fruit.
    public func outOfStock(
        _ order: OrderCommand,
        store: BorrowedText,
        shortages: Shortages,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        outOfStock(
            AnswerHead(id: order.id, store: store, isDuplicate: duplicate),
            juice: order.juice,
            quantity: order.quantity,
            missing: shortages,
            into: &buffer
        )
    }

    /// Answers a restock that the store took, `left` being the store after it.
    public func restocked(
        _ restock: RestockCommand,
        store: BorrowedText,
        left: FruitStore,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        restocked(
            AnswerHead(id: restock.id, store: store, isDuplicate: duplicate),
            left: RestockedLevels(restock.edit, left),
            into: &buffer
        )
    }

    /// Answers a command that nothing came of.
    public func rejected(
        _ kind: CommandKind,
        id: BorrowedText,
        store: BorrowedText,
        rejection: Rejection,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        let head = AnswerHead(id: id, store: store, isDuplicate: duplicate)
        begin(Self.rejectedType, kind, head, into: &buffer)
        buffer.append(#"","reason":"#)
        buffer.append(quoted: rejection.reason.rawValue)
        buffer.append(#","message":"#)
        buffer.append(quoted: phrasebook.message(for: rejection))
        buffer.append("}")
    }

    /// Writes the record of a store's whole stock after its `revision`th change.
    public func stock(
        store: BorrowedText,
        revision: Int,
        levels: FruitStore,
        into buffer: inout OutputBuffer
    ) {
        buffer.append(#"{"store":""#)
        buffer.append(escaped: store)
        buffer.append(#"","revision":"#)
        buffer.append(decimal: revision)
        for fruit in fruits.indices {
            append(fruit == 0 ? fruits[fruit].firstStock : fruits[fruit].next, into: &buffer)
            buffer.append(decimal: levels[fruit])
        }
        buffer.append("}}")
    }
}

/// What tells an answer from others of its kind.
struct AnswerHead {
    let id: BorrowedText
    let store: BorrowedText
    let isDuplicate: Bool
}

/// A fruit there was not enough of, from wherever it is known.
protocol ShortFruit {
    var fruit: Int { get }
    var needed: Int { get }
    var inStock: Int { get }
}

extension Shortage: ShortFruit {}

/// The fruits that a restock named, at their levels after it.
struct RestockedLevels: Sequence, IteratorProtocol {
    private var entries: IndexingIterator<[StockEdit.Entry]>
    private let store: FruitStore

    init(_ edit: StockEdit, _ store: FruitStore) {
        entries = edit.entries.makeIterator()
        self.store = store
    }

    mutating func next() -> (fruit: Int, level: Int)? {
        guard let entry = entries.next() else { return nil }
        return (entry.fruit, store[entry.fruit])
    }
}

// The answers, from numbers that come from a store or from a compact answer.
extension AnswerEncoder {
    func juiceMade(
        _ head: AnswerHead,
        juice: Int,
        quantity: Int,
        into buffer: inout OutputBuffer,
        left: (IngredientFragments) -> Int
    ) {
        let juice = juices[juice]
        begin(#"{"type":"juiceMade""#, .order, head, into: &buffer)
        append(juice.id, into: &buffer)
        buffer.append(decimal: quantity)
        for place in juice.ingredients {
            let ingredient = ingredients[place]
            append(ingredient.used, into: &buffer)
            buffer.append(decimal: ingredient.amount * quantity)
        }
        for place in juice.ingredients {
            let ingredient = ingredients[place]
            append(ingredient.left, into: &buffer)
            buffer.append(decimal: left(ingredient))
        }
        if quantity == 1 {
            append(juice.madeOne, into: &buffer)
        } else {
            append(juice.madeSeveral.before, into: &buffer)
            buffer.append(decimal: quantity)
            append(juice.madeSeveral.after, into: &buffer)
        }
    }

    func outOfStock(
        _ head: AnswerHead,
        juice: Int,
        quantity: Int,
        missing: some Sequence<some ShortFruit>,
        into buffer: inout OutputBuffer
    ) {
        begin(#"{"type":"outOfStock""#, .order, head, into: &buffer)
        append(juices[juice].id, into: &buffer)
        buffer.append(decimal: quantity)
        var count = 0
        for short in missing {
            let fruit = fruits[short.fruit]
            append(count == 0 ? fruit.firstShort : fruit.nextShort, into: &buffer)
            buffer.append(decimal: short.needed)
            buffer.append(#","inStock":"#)
            buffer.append(decimal: short.inStock)
            count += 1
        }
        append(phrases.outOfStock.before, into: &buffer)
        var following = count
        for short in missing {
            following -= 1
            append(fruits[short.fruit].listed(followedBy: following), into: &buffer)
        }
        append(phrases.outOfStock.after, into: &buffer)
    }

    func restocked(
        _ head: AnswerHead,
        left: some Sequence<(fruit: Int, level: Int)>,
        into buffer: inout OutputBuffer
    ) {
        begin(#"{"type":"restocked""#, .restock, head, into: &buffer)
        var isFirst = true
        for (fruit, level) in left {
            append(isFirst ? fruits[fruit].firstLeft : fruits[fruit].next, into: &buffer)
            buffer.append(decimal: level)
            isFirst = false
        }
        append(phrases.restocked, into: &buffer)
        isFirst = true
        for (fruit, level) in left {
            if !isFirst { buffer.append(", ") }
            append(fruits[fruit].level.before, into: &buffer)
            buffer.append(decimal: level)
            append(fruits[fruit].level.after, into: &buffer)
            isFirst = false
        }
        buffer.append(#""}"#)
    }

    // What answers have in common. It leaves off within the string of the store: the pieces that come next
    // begin with its closing quote.
    private func begin(
        _ type: StaticString,
        _ kind: CommandKind,
        _ head: AnswerHead,
        into buffer: inout OutputBuffer
    ) {
        buffer.append(type)
        if head.isDuplicate { buffer.append(Self.duplicateMember) }
        Self.append(kind, id: head.id, store: head.store, into: &buffer)
    }

    static func append(
        _ kind: CommandKind,
        id: BorrowedText,
        store: BorrowedText,
        into buffer: inout OutputBuffer
    ) {
        append(kind, into: &buffer)
        buffer.append(escaped: id)
        buffer.append(storeMember)
        buffer.append(escaped: store)
    }

    static func append(_ kind: CommandKind, into buffer: inout OutputBuffer) {
        switch kind {
        case .order: buffer.append(#","orderId":""#)
        case .restock: buffer.append(#","restockId":""#)
        }
    }

    static var storeMember: StaticString { #"","store":""# }

    static var rejectedType: StaticString { #"{"type":"rejected""# }

    static var duplicateMember: StaticString { #","duplicate":true"# }

    private func append(_ fragment: Fragment, into buffer: inout OutputBuffer) {
        buffer.append(fragment, of: fragments)
    }
}
