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
        let juice = juices[order.juice]
        begin(
            #"{"type":"juiceMade""#,
            .order,
            id: order.id,
            store: store,
            duplicate: duplicate,
            into: &buffer
        )
        append(juice.id, into: &buffer)
        buffer.append(decimal: order.quantity)
        for ingredient in ingredients[juice.ingredients] {
            append(ingredient.used, into: &buffer)
            buffer.append(decimal: ingredient.amount * order.quantity)
        }
        for ingredient in ingredients[juice.ingredients] {
            append(ingredient.left, into: &buffer)
            buffer.append(decimal: left[ingredient.fruit])
        }
        if order.quantity == 1 {
            append(juice.madeOne, into: &buffer)
        } else {
            append(juice.madeSeveral.before, into: &buffer)
            buffer.append(decimal: order.quantity)
            append(juice.madeSeveral.after, into: &buffer)
        }
    }

    /// Answers an order that was short of fruit.
    public func outOfStock(
        _ order: OrderCommand,
        store: BorrowedText,
        shortages: Shortages,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        begin(
            #"{"type":"outOfStock""#,
            .order,
            id: order.id,
            store: store,
            duplicate: duplicate,
            into: &buffer
        )
        append(juices[order.juice].id, into: &buffer)
        buffer.append(decimal: order.quantity)
        var count = 0
        for shortage in shortages {
            let fruit = fruits[shortage.fruit]
            append(count == 0 ? fruit.firstShort : fruit.nextShort, into: &buffer)
            buffer.append(decimal: shortage.needed)
            buffer.append(#","inStock":"#)
            buffer.append(decimal: shortage.inStock)
            count += 1
        }
        append(phrases.outOfStock.before, into: &buffer)
        var following = count
        for shortage in shortages {
            following -= 1
            append(fruits[shortage.fruit].listed(followedBy: following), into: &buffer)
        }
        append(phrases.outOfStock.after, into: &buffer)
    }

    /// Answers a restock that the store took, `left` being the store after it.
    public func restocked(
        _ restock: RestockCommand,
        store: BorrowedText,
        left: FruitStore,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        begin(
            #"{"type":"restocked""#,
            .restock,
            id: restock.id,
            store: store,
            duplicate: duplicate,
            into: &buffer
        )
        for (position, entry) in restock.edit.entries.enumerated() {
            append(position == 0 ? fruits[entry.fruit].firstLeft : fruits[entry.fruit].next, into: &buffer)
            buffer.append(decimal: left[entry.fruit])
        }
        append(phrases.restocked, into: &buffer)
        for (position, entry) in restock.edit.entries.enumerated() {
            if position > 0 { buffer.append(", ") }
            append(fruits[entry.fruit].level.before, into: &buffer)
            buffer.append(decimal: left[entry.fruit])
            append(fruits[entry.fruit].level.after, into: &buffer)
        }
        buffer.append(#""}"#)
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
        begin(#"{"type":"rejected""#, kind, id: id, store: store, duplicate: duplicate, into: &buffer)
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

    /// Writes an answer that an encoder wrote before as the answer to a repeat of its command: the same, with
    /// `"duplicate":true` after its type.
    public static func duplicate(of answer: UnsafeRawBufferPointer, into buffer: inout OutputBuffer) {
        // The type is the first member of every answer, and no type has a comma in it.
        let end = answer.firstIndex(of: UInt8(ascii: ",")) ?? answer.endIndex
        buffer.append(UnsafeRawBufferPointer(rebasing: answer[..<end]))
        buffer.append(duplicateMember)
        buffer.append(UnsafeRawBufferPointer(rebasing: answer[end...]))
    }
}

extension AnswerEncoder {
    // What answers have in common. It leaves off within the string of the store: the pieces that come next
    // begin with its closing quote.
    private func begin(
        _ type: StaticString,
        _ kind: CommandKind,
        id: BorrowedText,
        store: BorrowedText,
        duplicate: Bool,
        into buffer: inout OutputBuffer
    ) {
        buffer.append(type)
        if duplicate { buffer.append(Self.duplicateMember) }
        switch kind {
        case .order: buffer.append(#","orderId":""#)
        case .restock: buffer.append(#","restockId":""#)
        }
        buffer.append(escaped: id)
        buffer.append(#"","store":""#)
        buffer.append(escaped: store)
    }

    private static var duplicateMember: StaticString { #","duplicate":true"# }

    private func append(_ fragment: Fragment, into buffer: inout OutputBuffer) {
        buffer.append(fragment, of: fragments)
    }
}
