import JuiceMaker

/// Writes the answers and the stock records of one menu, as JSON without spaces.
///
/// Every method appends one record to a buffer; once the buffer has grown to its size, answering an order allocates no
/// memory. An answer given again to a repeat has `"duplicate":true` after its type.
///
/// A class, because copying its tables for a call would cost more than the shortest answer's pieces.
public final class AnswerEncoder: Sendable {
    /// The language of the messages.
    public let language: Language

    let phrasebook: Phrasebook
    private let fragments: Fragments
    private let fruits: [FruitFragments]
    private let juices: [JuiceFragments]
    // Those of all juices, one behind the other.
    private let ingredients: [Ingredient]
    private let types: (juiceMade: TypeFragments, outOfStock: TypeFragments, restocked: TypeFragments)
    private let phrases: PhraseFragments
    private let stock: StockTemplate

    /// An encoder of answers about this menu's juices and fruits, with messages in this language.
    public init(menu: Menu, language: Language = .english) {
        self.language = language
        let phrasebook = Phrasebook(menu: menu, language: language)
        var fragments = Fragments()
        var juices: [JuiceFragments] = []
        var ingredients: [Ingredient] = []
        for (index, juice) in menu.juices.enumerated() {
            let first = ingredients.count
            ingredients += juice.recipe
            juices.append(JuiceFragments(index, first..<ingredients.count, phrasebook, &fragments))
        }
        fruits = menu.fruits.indices.map { FruitFragments(fruit: $0, phrasebook, &fragments) }
        types = (
            TypeFragments(.juiceMade, &fragments), TypeFragments(.outOfStock, &fragments),
            TypeFragments(.restocked, &fragments)
        )
        phrases = PhraseFragments(phrasebook, &fragments)
        stock = StockTemplate(menu: menu)
        self.juices = juices
        self.ingredients = ingredients
        self.fragments = fragments
        self.phrasebook = phrasebook
    }

    /// Writes the answer to a command that was carried out, or to an order that was short of fruit.
    public func write(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        switch content.kind {
        case .juiceMade: writeJuiceMade(content, head, into: &buffer)
        case .outOfStock: writeOutOfStock(content, head, into: &buffer)
        case .restocked: writeRestocked(content, head, into: &buffer)
        }
    }

    /// Writes the answer to a command that had no effect.
    public func write(_ rejection: Rejection, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        buffer.append(type: Self.rejectedType, isDuplicate: head.isDuplicate)
        buffer.append(idFieldOf: head.command)
        buffer.append(idAndStoreOf: head)
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
        stock.write(store: store, revision: revision, levels: levels, into: &buffer)
    }

    /// The type of an answer to a command that had no effect.
    static var rejectedType: StaticString { "rejected" }
}

extension AnswerEncoder {
    private func writeJuiceMade(
        _ content: AnswerContent,
        _ head: AnswerHead,
        into buffer: inout OutputBuffer
    ) {
        let juice = juices[content.order.juice]
        begin(types.juiceMade, head, into: &buffer)
        append(juice.id, into: &buffer)
        buffer.append(decimal: content.order.quantity)
        for place in juice.ingredients {
            let ingredient = ingredients[place]
            let isFirst = place == juice.ingredients.lowerBound
            append(
                isFirst ? fruits[ingredient.fruit].firstUsed : fruits[ingredient.fruit].next,
                into: &buffer
            )
            buffer.append(decimal: ingredient.amount * content.order.quantity)
        }
        for place in 0..<content.count {
            let (fruit, isFirst) = (content[place].fruit, place == 0)
            append(isFirst ? fruits[fruit].firstLeftAfterUsed : fruits[fruit].next, into: &buffer)
            buffer.append(decimal: content[place].level)
        }
        if content.order.quantity == 1 {
            append(juice.madeOne, into: &buffer)
        } else {
            append(juice.madeSeveral.before, into: &buffer)
            buffer.append(decimal: content.order.quantity)
            append(juice.madeSeveral.after, into: &buffer)
        }
    }

    private func writeOutOfStock(
        _ content: AnswerContent,
        _ head: AnswerHead,
        into buffer: inout OutputBuffer
    ) {
        let juice = juices[content.order.juice]
        begin(types.outOfStock, head, into: &buffer)
        append(juice.id, into: &buffer)
        buffer.append(decimal: content.order.quantity)
        var following = 0
        for place in 0..<content.count where content[place].isTold {
            let (fruit, isFirst) = (content[place].fruit, following == 0)
            append(isFirst ? fruits[fruit].firstShort : fruits[fruit].nextShort, into: &buffer)
            let needed = ingredients[juice.ingredients.lowerBound + place].amount * content.order.quantity
            buffer.append(decimal: needed)
            buffer.append(#","inStock":"#)
            buffer.append(decimal: content[place].level)
            following += 1
        }
        append(phrases.outOfStock.before, into: &buffer)
        for place in 0..<content.count where content[place].isTold {
            following -= 1
            append(fruits[content[place].fruit].listed(followedBy: following), into: &buffer)
        }
        append(phrases.outOfStock.after, into: &buffer)
    }

    private func writeRestocked(
        _ content: AnswerContent,
        _ head: AnswerHead,
        into buffer: inout OutputBuffer
    ) {
        begin(types.restocked, head, into: &buffer)
        for place in 0..<content.count {
            let (fruit, isFirst) = (content[place].fruit, place == 0)
            append(isFirst ? fruits[fruit].firstLeft : fruits[fruit].next, into: &buffer)
            buffer.append(decimal: content[place].level)
        }
        append(phrases.restocked, into: &buffer)
        for place in 0..<content.count {
            if place > 0 { buffer.append(", ") }
            append(fruits[content[place].fruit].level.before, into: &buffer)
            buffer.append(decimal: content[place].level)
            append(fruits[content[place].fruit].level.after, into: &buffer)
        }
        buffer.append(#""}"#)
    }

    // What all answers begin with. It leaves the store's string open: the next piece closes it.
    private func begin(_ type: TypeFragments, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        append(type.beginning(of: head), into: &buffer)
        buffer.append(idAndStoreOf: head)
    }

    private func append(_ fragment: Fragment, into buffer: inout OutputBuffer) {
        buffer.append(fragment, of: fragments)
    }
}

// MARK: - Compact answers

extension AnswerEncoder {
    /// Unpacks an answer that was packed under the same menu.
    ///
    /// - Returns: false if it cannot be an answer by this menu, or if it needs a template. The content means nothing then.
    public func unpack(_ answer: CompactAnswer, into content: inout AnswerContent) -> Bool {
        guard let kind = answer.kind.content else { return false }
        let offset = kind.packingOffset
        var numbers = answer.numbers
        switch kind {
        case .juiceMade, .outOfStock:
            let order = JuiceOrder(juice: numbers.next(), quantity: numbers.next())
            guard juices.indices.contains(order.juice), JuiceMaker.quantities.contains(order.quantity) else {
                return false
            }
            content.begin(kind, order)
            for place in juices[order.juice].ingredients {
                content.append(ingredients[place].fruit, numbers.next() - offset)
            }
            return (0..<content.count).contains { content[$0].isTold }
        case .restocked:
            var named = FruitSet(bits: numbers.next())
            guard named.isOfMenu(fruits: fruits.count) else { return false }
            content.begin(kind)
            while let fruit = named.popFirst() { content.append(fruit, numbers.next() - offset) }
            return true
        }
    }
}
