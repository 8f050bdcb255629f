import JuiceDomain

/// What an answer says, in numbers: everything but the command's id and store, and the language.
///
/// The one form between an outcome and its JSON, which an ``AnswerEncoder`` writes. Juices and fruits are indices of the menu.
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
        /// An order was taken back.
        case cancelled

        /// The answer's type in JSON.
        var type: StaticString {
            switch self {
            case .juiceMade: "juiceMade"
            case .outOfStock: "outOfStock"
            case .restocked: "restocked"
            case .cancelled: "cancelled"
            }
        }

        /// The kind of the answers of a type, `nil` for rejections and for types of a newer service.
        init?(type: BorrowedText) {
            switch type {
            case BorrowedText(Self.juiceMade.type): self = .juiceMade
            case BorrowedText(Self.outOfStock.type): self = .outOfStock
            case BorrowedText(Self.restocked.type): self = .restocked
            case BorrowedText(Self.cancelled.type): self = .cancelled
            default: return nil
            }
        }

        /// What such an answer answers.
        var command: CommandKind {
            switch self {
            case .juiceMade, .outOfStock: .order
            case .restocked: .restock
            case .cancelled: .cancel
            }
        }
    }

    /// What came of the command.
    public var kind = Kind.restocked
    /// The order that was answered; means nothing for a restock or a cancel.
    public var order = JuiceOrder.basket([])
    /// The fruits of the command, in the order in which the answer names them. An out-of-stock answer names those that are short.
    public var fruits = FruitTally()
    /// The store's revision after a command that changed it; 0 if it did not.
    public var revision = 0

    /// The content of no answer, to be set.
    public init() {}

    /// Becomes the answer to an order, which the maker makes. The revision is left to be set.
    ///
    /// - Parameters:
    ///   - order: the order.
    ///   - maker: a maker by the answer's menu.
    ///   - store: the store that the fruits are taken from.
    /// - Returns: what came of the order.
    @discardableResult
    public mutating func make(
        _ order: JuiceOrder,
        by maker: JuiceMaker,
        from store: inout FruitStore
    ) -> JuiceMaker.Outcome {
        let outcome = maker.make(order, from: &store, &fruits)
        self.order = order
        kind = outcome == .made ? .juiceMade : .outOfStock
        return outcome
    }
}

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
        appendFruits(of: content, by: { $0.amount }, after: { $0.firstUsed }, into: &buffer)
        appendFruits(of: content, by: { $0.level }, after: { $0.firstLeftAfterAmounts }, into: &buffer)
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
        appendFruits(of: content, by: { $0.level }, after: { $0.firstLeft }, into: &buffer)
        appendRevision(of: content, into: &buffer)
        append(phrases.restocked, into: &buffer)
        appendList(of: content, into: &buffer) { $0.level }
        buffer.append(#""}"#)
    }

    private func writeCancelled(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(beginnings.cancelled, head, into: &buffer)
        guard content.fruits.count > 0 else { return append(phrases.cancelledNothing, into: &buffer) }
        appendFruits(of: content, by: { $0.amount }, after: { $0.firstReturned }, into: &buffer)
        appendFruits(of: content, by: { $0.level }, after: { $0.firstLeftAfterAmounts }, into: &buffer)
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

    /// The fruits as members, each with a number, after what comes before the first of them.
    @inline(__always)
    private func appendFruits(
        of content: AnswerContent, by number: (FruitTally.Line) -> Int, after first: (FruitFragments) -> Fragment,
        into buffer: inout OutputBuffer
    ) {
        for place in 0..<content.fruits.count {
            let line = content.fruits[place]
            append(place == 0 ? first(fruits[line.fruit]) : fruits[line.fruit].next, into: &buffer)
            buffer.append(decimal: number(line))
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

/// A piece of JSON that is the same in every record: its place in a table of ``Fragments``.
struct Fragment {
    fileprivate let start: Int
    fileprivate let end: Int
}

/// All the pieces an encoder writes again and again, escaped once.
///
/// They lie in one array and are known by their places: an array for each would count references at every read.
struct Fragments: Sendable {
    private var bytes: [UInt8] = []

    /// Keeps what `append` puts into the table.
    mutating func add(_ append: (inout OutputBuffer) -> Void) -> Fragment {
        var piece = OutputBuffer()
        append(&piece)
        let start = bytes.count
        bytes += piece.bytes
        return Fragment(start: start, end: bytes.count)
    }

    /// Calls `body` with the bytes of a fragment.
    @inline(__always)
    func withBytes<Result>(of fragment: Fragment, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[fragment.start..<fragment.end])) }
    }
}

extension OutputBuffer {
    mutating func append(_ fragment: Fragment, of fragments: Fragments) {
        fragments.withBytes(of: fragment) { append($0) }
    }
}

// The pieces of answers that the menu and the language fix, cut where a text or a number of the single answer
// comes in. Each is as long as possible: the cost of an answer is the number of its pieces.

/// What answers say of one fruit.
struct FruitFragments {
    /// `,"used":{"kiwi":`
    let firstUsed: Fragment
    /// `,"returned":{"kiwi":`
    let firstReturned: Fragment
    /// After the fruits that were used or returned: `},"left":{"kiwi":`
    let firstLeftAfterAmounts: Fragment
    /// `,"left":{"kiwi":`
    let firstLeft: Fragment
    /// `,"kiwi":`
    let next: Fragment
    /// `,"fruit":"kiwi","missing":[{"fruit":"kiwi","needed":`
    let firstShort: Fragment
    /// `},{"fruit":"kiwi","needed":`
    let nextShort: Fragment
    /// Around the number, in the message to a restock or a cancel: `kiwi 8`
    let counted: (before: Fragment, after: Fragment)
    private let beforeOthers: Fragment
    private let beforeLast: Fragment
    private let last: Fragment

    init(fruit: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        let id = phrasebook.menu.fruits[fruit].id
        firstUsed = fragments.add { $0.append(#","used":{"#, key: id) }
        firstReturned = fragments.add { $0.append(#","returned":{"#, key: id) }
        firstLeftAfterAmounts = fragments.add { $0.append(#"},"left":{"#, key: id) }
        firstLeft = fragments.add { $0.append(#","left":{"#, key: id) }
        next = fragments.add { $0.append(",", key: id) }
        firstShort = fragments.add {
            $0.append(#","fruit":"#)
            $0.append(quoted: id)
            $0.append(#","missing":[{"fruit":"#)
            $0.append(quoted: id)
            $0.append(#","needed":"#)
        }
        nextShort = fragments.add {
            $0.append(#"},{"fruit":"#)
            $0.append(quoted: id)
            $0.append(#","needed":"#)
        }

        counted = fragments.add(phrasebook.counted(fruit: fruit))
        let listed = phrasebook.listed(fruit: fruit)
        beforeOthers = fragments.add { $0.append(escaped: listed.beforeOthers) }
        beforeLast = fragments.add { $0.append(escaped: listed.beforeLast) }
        last = fragments.add { $0.append(escaped: listed.last) }
    }

    /// The fruit in the message that lists what is short, by how many fruits follow it.
    func listed(followedBy following: Int) -> Fragment {
        switch following {
        case 0: last
        case 1: beforeLast
        default: beforeOthers
        }
    }
}

/// What answers say of one juice.
struct JuiceFragments {
    /// `,"juice":"kiwi","quantity":`
    let id: Fragment
    /// `,"items":[{"juice":"kiwi","quantity":`
    let firstItem: Fragment
    /// `},{"juice":"kiwi","quantity":`
    let nextItem: Fragment
    /// `,"message":"juice made: kiwi juice"}`
    let madeOne: Fragment
    /// `kiwi juice`
    let one: Fragment
    /// Around the number: `3 × kiwi juice`
    let several: (before: Fragment, after: Fragment)

    init(juice: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        func item(after before: StaticString) -> Fragment {
            fragments.add {
                $0.append(before)
                $0.append(quoted: phrasebook.menu.juices[juice].id)
                $0.append(#","quantity":"#)
            }
        }
        id = item(after: #","juice":"#)
        firstItem = item(after: #","items":[{"juice":"#)
        nextItem = item(after: #"},{"juice":"#)
        let name = phrasebook.one(ofJuice: juice)
        one = fragments.add { $0.append(escaped: name) }
        madeOne = fragments.add {
            $0.append(#","message":""#)
            $0.append(escaped: phrasebook.made.before + name + phrasebook.made.after)
            $0.append(#""}"#)
        }
        several = fragments.add(phrasebook.several(ofJuice: juice))
    }
}

/// What answers say of any juice or fruit.
struct PhraseFragments {
    /// Around the juices: `,"message":"juice made: 3 × kiwi juice"}`
    let made: (before: Fragment, after: Fragment)
    /// After the levels: `},"revision":`
    let revision: Fragment
    /// Around the fruits: `}],"message":"out of stock (mango, kiwi)"}`
    let outOfStock: (before: Fragment, after: Fragment)
    /// `,"message":"restocked: `
    let restocked: Fragment
    /// Around the fruits: `,"message":"cancelled: kiwi 6 returned"}`
    let cancelled: (before: Fragment, after: Fragment)
    /// All the rest of a cancel's answer that returned nothing.
    let cancelledNothing: Fragment

    init(_ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        revision = fragments.add { $0.append(#"},"revision":"#) }
        made = fragments.add(message: phrasebook.made, after: #","message":""#)
        outOfStock = fragments.add(message: phrasebook.outOfStock, after: #"}],"message":""#)
        cancelled = fragments.add(message: phrasebook.cancelled, after: #","message":""#)
        restocked = fragments.add {
            $0.append(#","message":""#)
            $0.append(escaped: phrasebook.restocked)
        }
        cancelledNothing = fragments.add {
            $0.append(#","returned":{},"left":{},"message":""#)
            $0.append(escaped: phrasebook.cancelledNothing)
            $0.append(#""}"#)
        }
    }
}

extension Fragments {
    /// Adds the texts around a number or a list.
    fileprivate mutating func add(_ texts: (before: String, after: String)) -> (Fragment, Fragment) {
        (add { $0.append(escaped: texts.before) }, add { $0.append(escaped: texts.after) })
    }

    /// Adds the texts around a list in the message, which ends the answer.
    fileprivate mutating func add(
        message texts: (before: String, after: String),
        after start: StaticString
    ) -> (Fragment, Fragment) {
        let before = add {
            $0.append(start)
            $0.append(escaped: texts.before)
        }
        let after = add {
            $0.append(escaped: texts.after)
            $0.append(#""}"#)
        }
        return (before, after)
    }
}

/// How answers begin, up to the id: `{"type":"juiceMade","orderId":"`.
struct BeginningFragments {
    let juiceMade: Fragment
    let outOfStock: Fragment
    let restocked: Fragment
    let cancelled: Fragment

    init(_ fragments: inout Fragments) {
        func beginning(_ kind: AnswerContent.Kind) -> Fragment {
            fragments.add {
                $0.append(type: kind.type)
                $0.append(idFieldOf: kind.command)
            }
        }
        juiceMade = beginning(.juiceMade)
        outOfStock = beginning(.outOfStock)
        restocked = beginning(.restocked)
        cancelled = beginning(.cancelled)
    }
}

extension OutputBuffer {
    // What comes before a member of an object, and the member's name.
    mutating func append(_ before: StaticString, key: String) {
        append(before)
        append(quoted: key)
        append(":")
    }
}
