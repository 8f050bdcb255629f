import JuiceMaker

/// Writes the answers and the stock records of one menu, as JSON without spaces.
///
/// Every method appends one record to a buffer; once the buffer has grown to its size, answering an order allocates no
/// memory.
///
/// A class, because copying its tables for a call would cost more than the shortest answer's pieces.
public final class AnswerEncoder: Sendable {
    /// The language of the messages.
    public let language: Language

    let phrasebook: Phrasebook
    private let fragments: Fragments
    private let fruits: [FruitFragments]
    private let juices: [JuiceFragments]
    private let beginnings: BeginningFragments
    private let phrases: PhraseFragments
    private let stock: StockTemplate

    /// An encoder of answers about this menu's juices and fruits, with messages in this language.
    public init(menu: Menu, language: Language = .english) {
        self.language = language
        let phrasebook = Phrasebook(menu: menu, language: language)
        var fragments = Fragments()
        juices = menu.juices.indices.map { JuiceFragments(juice: $0, phrasebook, &fragments) }
        fruits = menu.fruits.indices.map { FruitFragments(fruit: $0, phrasebook, &fragments) }
        beginnings = BeginningFragments(&fragments)
        phrases = PhraseFragments(phrasebook, &fragments)
        stock = StockTemplate(menu: menu)
        self.fragments = fragments
        self.phrasebook = phrasebook
    }

    /// Writes the answer to a command that was carried out, or to an order that was short of fruit. The content must be of the
    /// same menu.
    public func write(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        switch content.kind {
        case .juiceMade: writeJuiceMade(content, head, into: &buffer)
        case .outOfStock: writeOutOfStock(content, head, into: &buffer)
        case .restocked: writeRestocked(content, head, into: &buffer)
        case .cancelled: writeCancelled(content, head, into: &buffer)
        }
    }

    /// Writes the answer to a command that had no effect.
    public func write(_ rejection: Rejection, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        buffer.append(type: Self.rejectedType)
        buffer.append(membersOf: head)
        if head.command == .cancel { buffer.append(#","cancel":true"#) }
        buffer.append(#","reason":"#)
        buffer.append(quoted: rejection.reason.rawValue)
        buffer.append(#","message":"#)
        buffer.append(quoted: phrasebook.message(for: rejection))
        buffer.append("}")
    }

    /// Writes the record of a store's whole stock after its `revision`th change.
    public func stock(store: BorrowedText, revision: Int, levels: FruitStore, into buffer: inout OutputBuffer) {
        stock.write(store: store, revision: revision, levels: levels, into: &buffer)
    }

    /// The type of an answer to a command that had no effect.
    static var rejectedType: StaticString { "rejected" }
}

extension AnswerEncoder {
    private func writeJuiceMade(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(beginnings.juiceMade, head, into: &buffer)
        append(content.order, into: &buffer)
        appendAmounts(of: content, after: { $0.firstUsed }, into: &buffer)
        appendLevels(of: content, after: { $0.firstLeftAfterAmounts }, into: &buffer)
        appendRevision(of: content, into: &buffer)
        switch content.order {
        case .single(let item) where item.quantity == 1: append(juices[item.juice].madeOne, into: &buffer)
        case .single(let item):
            append(phrases.made.before, into: &buffer)
            append(item, into: &buffer)
            append(phrases.made.after, into: &buffer)
        case .basket(let items):
            append(phrases.made.before, into: &buffer)
            for place in items.indices {
                if place > 0 { buffer.append(", ") }
                append(items[place], into: &buffer)
            }
            append(phrases.made.after, into: &buffer)
        }
    }

    private func writeOutOfStock(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(beginnings.outOfStock, head, into: &buffer)
        append(content.order, into: &buffer)
        var following = 0
        for place in 0..<content.fruits.count where content.fruits[place].isShort {
            let (line, isFirst) = (content.fruits[place], following == 0)
            append(isFirst ? fruits[line.fruit].firstShort : fruits[line.fruit].nextShort, into: &buffer)
            buffer.append(decimal: line.amount)
            buffer.append(#","inStock":"#)
            buffer.append(decimal: line.level)
            following += 1
        }
        append(phrases.outOfStock.before, into: &buffer)
        for place in 0..<content.fruits.count where content.fruits[place].isShort {
            following -= 1
            append(fruits[content.fruits[place].fruit].listed(followedBy: following), into: &buffer)
        }
        append(phrases.outOfStock.after, into: &buffer)
    }

    private func writeRestocked(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(beginnings.restocked, head, into: &buffer)
        appendLevels(of: content, after: { $0.firstLeft }, into: &buffer)
        appendRevision(of: content, into: &buffer)
        append(phrases.restocked, into: &buffer)
        appendList(of: content, into: &buffer) { $0.level }
        buffer.append(#""}"#)
    }

    private func writeCancelled(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(beginnings.cancelled, head, into: &buffer)
        guard content.fruits.count > 0 else { return append(phrases.cancelledNothing, into: &buffer) }
        appendAmounts(of: content, after: { $0.firstReturned }, into: &buffer)
        appendLevels(of: content, after: { $0.firstLeftAfterAmounts }, into: &buffer)
        appendRevision(of: content, into: &buffer)
        append(phrases.cancelled.before, into: &buffer)
        appendList(of: content, into: &buffer) { $0.amount }
        append(phrases.cancelled.after, into: &buffer)
    }
}

// MARK: - Parts

extension AnswerEncoder {
    /// What all answers begin with.
    private func begin(_ beginning: Fragment, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        append(beginning, into: &buffer)
        buffer.append(idAndPlaceOf: head)
    }

    /// Leaves the number of the only item open, or closes the items: a member may follow.
    @inline(__always)
    private func append(_ order: JuiceOrder, into buffer: inout OutputBuffer) {
        switch order {
        case .single(let item):
            append(juices[item.juice].id, into: &buffer)
            buffer.append(decimal: item.quantity)
        case .basket(let items): append(items, into: &buffer)
        }
    }

    private func append(_ items: [OrderItem], into buffer: inout OutputBuffer) {
        for place in items.indices {
            let juice = juices[items[place].juice]
            append(place == 0 ? juice.firstItem : juice.nextItem, into: &buffer)
            buffer.append(decimal: items[place].quantity)
        }
        buffer.append("}]")
    }

    /// An item in a message.
    private func append(_ item: OrderItem, into buffer: inout OutputBuffer) {
        let juice = juices[item.juice]
        if item.quantity == 1 { return append(juice.one, into: &buffer) }
        append(juice.several.before, into: &buffer)
        buffer.append(decimal: item.quantity)
        append(juice.several.after, into: &buffer)
    }

    @inline(__always)
    private func appendAmounts(
        of content: AnswerContent,
        after first: (FruitFragments) -> Fragment,
        into buffer: inout OutputBuffer
    ) {
        for place in 0..<content.fruits.count {
            let line = content.fruits[place]
            append(place == 0 ? first(fruits[line.fruit]) : fruits[line.fruit].next, into: &buffer)
            buffer.append(decimal: line.amount)
        }
    }

    @inline(__always)
    private func appendLevels(
        of content: AnswerContent,
        after first: (FruitFragments) -> Fragment,
        into buffer: inout OutputBuffer
    ) {
        for place in 0..<content.fruits.count {
            let line = content.fruits[place]
            append(place == 0 ? first(fruits[line.fruit]) : fruits[line.fruit].next, into: &buffer)
            buffer.append(decimal: line.level)
        }
    }

    /// Closes the levels before it.
    @inline(__always)
    private func appendRevision(of content: AnswerContent, into buffer: inout OutputBuffer) {
        guard content.revision > 0 else { return buffer.append("}") }
        append(phrases.revision, into: &buffer)
        buffer.append(decimal: content.revision)
    }

    /// The fruits in a message, each with a number.
    private func appendList(of content: AnswerContent, into buffer: inout OutputBuffer, _ number: (FruitTally.Line) -> Int) {
        for place in 0..<content.fruits.count {
            let line = content.fruits[place]
            if place > 0 { buffer.append(", ") }
            append(fruits[line.fruit].counted.before, into: &buffer)
            buffer.append(decimal: number(line))
            append(fruits[line.fruit].counted.after, into: &buffer)
        }
    }

    private func append(_ fragment: Fragment, into buffer: inout OutputBuffer) {
        buffer.append(fragment, of: fragments)
    }
}
