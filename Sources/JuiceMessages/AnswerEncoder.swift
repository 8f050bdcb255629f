import JuiceMaker

/// Writes the answers and the stock records of one menu, as JSON without spaces.
///
/// Every method appends one record to a buffer; with a buffer that has grown to its size, answering an order takes no
/// memory. A `duplicate` answer, given again for a repeated command, has `"duplicate":true` after its type.
public struct AnswerEncoder: Sendable {
    /// The language of the messages.
    public let language: Language

    let phrasebook: Phrasebook
    let fragments: Fragments
    let fruits: [FruitFragments]
    let juices: [JuiceFragments]
    let phrases: PhraseFragments
    let recipes: [[Ingredient]]

    /// An encoder of answers about this menu's juices and fruits, with messages in this language.
    public init(menu: Menu, language: Language = .english) {
        self.language = language
        let phrasebook = Phrasebook(menu: menu, language: language)
        var fragments = Fragments()
        fruits = menu.fruits.indices.map { FruitFragments(fruit: $0, phrasebook, &fragments) }
        juices = menu.juices.indices.map { JuiceFragments(juice: $0, phrasebook, &fragments) }
        phrases = PhraseFragments(phrasebook, &fragments)
        recipes = menu.juices.map(\.recipe)
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
        begin("juiceMade", .order, id: order.id, store: store, duplicate: duplicate, into: &buffer)
        append(order, into: &buffer)
        buffer.append(#","used":{"#)
        appendMembers(recipes[order.juice], into: &buffer) {
            $0.fruit
        } value: {
            $0.amount * order.quantity
        }
        buffer.append(#"},"left":{"#)
        appendMembers(recipes[order.juice], into: &buffer) {
            $0.fruit
        } value: {
            left[$0.fruit]
        }
        buffer.append(#"},"message":""#)
        if order.quantity == 1 {
            append(juice.madeOne, into: &buffer)
        } else {
            append(juice.madeSeveral.before, into: &buffer)
            buffer.append(decimal: order.quantity)
            append(juice.madeSeveral.after, into: &buffer)
        }
        buffer.append(#""}"#)
    }

    /// Answers an order that was short of fruit.
    public func outOfStock(
        _ order: OrderCommand,
        store: BorrowedText,
        shortages: Shortages,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        begin("outOfStock", .order, id: order.id, store: store, duplicate: duplicate, into: &buffer)
        append(order, into: &buffer)
        var count = 0
        for shortage in shortages {
            if count == 0 {
                buffer.append(#","fruit":"#)
                append(fruits[shortage.fruit].id, into: &buffer)
                buffer.append(#","missing":["#)
            } else {
                buffer.append(",")
            }
            append(shortage, into: &buffer)
            count += 1
        }
        buffer.append(#"],"message":""#)
        append(phrases.outOfStock.before, into: &buffer)
        var following = count
        for shortage in shortages {
            following -= 1
            append(fruits[shortage.fruit].listed(followedBy: following), into: &buffer)
        }
        append(phrases.outOfStock.after, into: &buffer)
        buffer.append(#""}"#)
    }

    /// Answers a restock that the store took, `left` being the store after it.
    public func restocked(
        _ restock: RestockCommand,
        store: BorrowedText,
        left: FruitStore,
        duplicate: Bool = false,
        into buffer: inout OutputBuffer
    ) {
        let entries = restock.edit.entries
        begin("restocked", .restock, id: restock.id, store: store, duplicate: duplicate, into: &buffer)
        buffer.append(#","left":{"#)
        appendMembers(entries, into: &buffer) {
            $0.fruit
        } value: {
            left[$0.fruit]
        }
        buffer.append(#"},"message":""#)
        append(phrases.restocked, into: &buffer)
        for (position, entry) in entries.enumerated() {
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
        begin("rejected", kind, id: id, store: store, duplicate: duplicate, into: &buffer)
        buffer.append(#","reason":"#)
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
        buffer.append(#"{"store":"#)
        buffer.append(quoted: store)
        buffer.append(#","revision":"#)
        buffer.append(decimal: revision)
        buffer.append(#","stock":{"#)
        appendMembers(fruits.indices, into: &buffer) {
            $0
        } value: {
            levels[$0]
        }
        buffer.append("}}")
    }

    /// Writes an answer that an encoder wrote before as the answer to a repeat of its command: the same, with
    /// `"duplicate":true` after its type.
    public static func duplicate(of answer: UnsafeRawBufferPointer, into buffer: inout OutputBuffer) {
        // The type is the first member of every answer, and no type has a comma in it.
        let end = answer.firstIndex(of: UInt8(ascii: ",")) ?? answer.endIndex
        buffer.append(UnsafeRawBufferPointer(rebasing: answer[..<end]))
        buffer.append(#","duplicate":true"#)
        buffer.append(UnsafeRawBufferPointer(rebasing: answer[end...]))
    }
}

// MARK: - What answers have in common

extension AnswerEncoder {
    private func begin(
        _ type: StaticString,
        _ kind: CommandKind,
        id: BorrowedText,
        store: BorrowedText,
        duplicate: Bool,
        into buffer: inout OutputBuffer
    ) {
        buffer.append(#"{"type":""#)
        buffer.append(type)
        buffer.append(duplicate ? #"","duplicate":true,""# : #"",""#)
        buffer.append(kind.idField)
        buffer.append(#"":"#)
        buffer.append(quoted: id)
        buffer.append(#","store":"#)
        buffer.append(quoted: store)
    }

    private func append(_ order: OrderCommand, into buffer: inout OutputBuffer) {
        buffer.append(#","juice":"#)
        append(juices[order.juice].id, into: &buffer)
        buffer.append(#","quantity":"#)
        buffer.append(decimal: order.quantity)
    }

    private func append(_ shortage: Shortage, into buffer: inout OutputBuffer) {
        buffer.append(#"{"fruit":"#)
        append(fruits[shortage.fruit].id, into: &buffer)
        buffer.append(#","needed":"#)
        buffer.append(decimal: shortage.needed)
        buffer.append(#","inStock":"#)
        buffer.append(decimal: shortage.inStock)
        buffer.append("}")
    }

    // The members of an object that has a number for each of some fruits.
    @inline(__always)
    private func appendMembers<Items: Sequence>(
        _ items: Items,
        into buffer: inout OutputBuffer,
        fruit: (Items.Element) -> Int,
        value: (Items.Element) -> Int
    ) {
        var isFirst = true
        for item in items {
            if !isFirst { buffer.append(byte: UInt8(ascii: ",")) }
            isFirst = false
            append(fruits[fruit(item)].key, into: &buffer)
            buffer.append(decimal: value(item))
        }
    }

    private func append(_ fragment: Fragment, into buffer: inout OutputBuffer) {
        buffer.append(fragment, of: fragments)
    }
}

extension CommandKind {
    /// The name of the field with a command's id.
    var idField: StaticString {
        switch self {
        case .order: "orderId"
        case .restock: "restockId"
        }
    }
}
