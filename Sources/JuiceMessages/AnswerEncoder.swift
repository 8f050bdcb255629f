import JuiceDomain

/// Writes the answers and the stock records of one menu, as JSON without spaces.
///
/// Every method appends one record to a buffer. Once the buffer has grown to its size, answering an order allocates no memory.
/// It is a class, because copying its tables for a call would cost more than the shortest answer's pieces.
public final class AnswerEncoder: Sendable {
    private let messages: AnswerMessages
    private let fragments: Fragments
    private let fruits: [FruitFragments]
    private let juices: [JuiceFragments]
    private let phrases: PhraseFragments
    private let stock: StockTemplate

    /// An encoder of answers about this menu's juices and fruits, with messages in this language.
    public init(menu: Menu, language: Language = .english) {
        let messages = AnswerMessages(menu: menu, language: language)
        var fragments = Fragments()
        juices = menu.juices.map { JuiceFragments($0, messages, &fragments) }
        fruits = menu.fruits.map { FruitFragments($0, messages, &fragments) }
        phrases = PhraseFragments(messages, &fragments)
        stock = StockTemplate(menu: menu)
        self.fragments = fragments
        self.messages = messages
    }

    /// Writes the answer to a command that was carried out, or to an order that was short of fruit. The content must be of the
    /// same menu.
    public func write(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        switch content.type {
        case .juiceMade: writeJuiceMade(content, head, into: &buffer)
        case .outOfStock: writeOutOfStock(content, head, into: &buffer)
        case .restocked: writeRestocked(content, head, into: &buffer)
        case .cancelled: writeCancelled(content, head, into: &buffer)
        case .rejected, .answerLost: assertionFailure("they have methods of their own, since they carry text")
        }
    }

    /// Writes the answer to a command that had no effect.
    public func write(_ rejection: Rejection, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        let message = messages.message(for: rejection)
        write(#"{"type":"rejected""#, head, #","reason":"#, rejection.reason.rawValue, message, into: &buffer)
    }

    /// Writes the answer to a command whose first answer is lost: a repeat, or the cancel of an order that was made.
    public func write(lost was: FormerOutcome, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        let message = messages.lost(was.name)
        write(#"{"type":"answerLost","duplicate":true"#, head, #","was":"#, was.name, message, into: &buffer)
    }

    private func write(
        _ beginning: StaticString, _ head: AnswerHead, _ member: StaticString, _ value: String, _ message: String,
        into buffer: inout OutputBuffer
    ) {
        buffer.append(beginning)
        buffer.append(membersOf: head)
        if head.command == .cancel { buffer.append(#","cancel":true"#) }
        buffer.append(member)
        buffer.append(quoted: value)
        buffer.append(#","message":"#)
        buffer.append(quoted: message)
        buffer.append("}")
    }

    /// Writes the record of a store's whole stock after its `revision`th change.
    public func stock(store: BorrowedText, revision: Int, levels: FruitStore, into buffer: inout OutputBuffer) {
        stock.write(store: store, revision: revision, levels: levels, into: &buffer)
    }
}

extension AnswerEncoder {
    private func writeJuiceMade(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(#"{"type":"juiceMade","orderId":""#, head, into: &buffer)
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
            for index in items.indices {
                if index > 0 { buffer.append(", ") }
                append(items[index], into: &buffer)
            }
            append(phrases.made.after, into: &buffer)
        }
    }

    private func writeOutOfStock(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(#"{"type":"outOfStock","orderId":""#, head, into: &buffer)
        append(content.order, into: &buffer)
        var following = 0
        for index in 0..<content.fruits.count where content.fruits[index].isShort {
            let (line, isFirst) = (content.fruits[index], following == 0)
            append(isFirst ? fruits[line.fruit].firstShort : fruits[line.fruit].nextShort, into: &buffer)
            buffer.append(decimal: line.amount)
            buffer.append(#","inStock":"#)
            buffer.append(decimal: line.level)
            following += 1
        }
        append(phrases.outOfStock.before, into: &buffer)
        for index in 0..<content.fruits.count where content.fruits[index].isShort {
            following -= 1
            append(fruits[content.fruits[index].fruit].listed(followedBy: following), into: &buffer)
        }
        append(phrases.outOfStock.after, into: &buffer)
    }

    private func writeRestocked(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(#"{"type":"restocked","restockId":""#, head, into: &buffer)
        appendFruits(of: content, by: { $0.level }, after: { $0.firstLeft }, into: &buffer)
        appendRevision(of: content, into: &buffer)
        append(phrases.restocked, into: &buffer)
        for index in 0..<content.fruits.count {
            let line = content.fruits[index]
            if index > 0 { buffer.append("; ") }
            append(fruits[line.fruit].counted.before, into: &buffer)
            if line.amount != 0 {
                if line.amount > 0 { buffer.append("+") }
                buffer.append(decimal: line.amount)
                buffer.append(", ")
            }
            append(phrases.now, into: &buffer)
            buffer.append(decimal: line.level)
            append(fruits[line.fruit].counted.after, into: &buffer)
        }
        buffer.append(#""}"#)
    }

    private func writeCancelled(_ content: AnswerContent, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        begin(#"{"type":"cancelled","orderId":""#, head, into: &buffer)
        guard content.fruits.count > 0 else { return append(phrases.cancelledNothing, into: &buffer) }
        appendFruits(of: content, by: { $0.amount }, after: { $0.firstReturned }, into: &buffer)
        appendFruits(of: content, by: { $0.level }, after: { $0.firstLeftAfterAmounts }, into: &buffer)
        appendRevision(of: content, into: &buffer)
        append(phrases.cancelled.before, into: &buffer)
        for index in 0..<content.fruits.count {
            let line = content.fruits[index]
            if index > 0 { buffer.append(", ") }
            append(fruits[line.fruit].counted.before, into: &buffer)
            buffer.append(decimal: line.amount)
            append(fruits[line.fruit].counted.after, into: &buffer)
        }
        append(phrases.cancelled.after, into: &buffer)
    }
}

// MARK: - Parts

extension AnswerEncoder {
    /// Appends the text up to the id, and then the id, the store and the offset.
    private func begin(_ beginning: StaticString, _ head: AnswerHead, into buffer: inout OutputBuffer) {
        buffer.append(beginning)
        buffer.append(idAndOffsetOf: head)
    }

    /// Appends the only item, or the items of a basket, so that another member may follow.
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
        for index in items.indices {
            let juice = juices[items[index].juice]
            append(index == 0 ? juice.firstItem : juice.nextItem, into: &buffer)
            buffer.append(decimal: items[index].quantity)
        }
        buffer.append("}]")
    }

    private func append(_ item: OrderItem, into buffer: inout OutputBuffer) {
        let juice = juices[item.juice]
        if item.quantity == 1 { return append(juice.one, into: &buffer) }
        append(juice.several.before, into: &buffer)
        buffer.append(decimal: item.quantity)
        append(juice.several.after, into: &buffer)
    }

    /// Appends the fruits as members, each with a number. `first` gives the text before the first number.
    @inline(__always)
    private func appendFruits(
        of content: AnswerContent, by number: (FruitTally.Line) -> Int, after first: (FruitFragments) -> Fragment,
        into buffer: inout OutputBuffer
    ) {
        for index in 0..<content.fruits.count {
            let line = content.fruits[index]
            append(index == 0 ? first(fruits[line.fruit]) : fruits[line.fruit].next, into: &buffer)
            buffer.append(decimal: number(line))
        }
    }

    /// Closes the levels, and appends the revision if there is one.
    @inline(__always)
    private func appendRevision(of content: AnswerContent, into buffer: inout OutputBuffer) {
        guard content.revision > 0 else { return buffer.append("}") }
        buffer.append(#"},"revision":"#)
        buffer.append(decimal: content.revision)
    }

    private func append(_ fragment: Fragment, into buffer: inout OutputBuffer) {
        buffer.append(fragment, of: fragments)
    }
}

// MARK: - Head

// The members that all answers begin with after their type, in the pieces in which they are written: `,"orderId":"`, and then the
// rest, such as `pos-7-000123","store":"gangnam","offset":1234,"from":"3/42"`.
extension OutputBuffer {
    private mutating func append(idFieldOf command: CommandKind) {
        append(",\"")
        append(command.idField)
        append(#"":""#)
    }

    mutating func append(membersOf head: AnswerHead) {
        append(idFieldOf: head.command)
        append(idAndOffsetOf: head)
    }

    mutating func append(idAndOffsetOf head: AnswerHead) {
        append(idAndStoreOf: head)
        append(offsetOf: head)
    }

    private mutating func append(idAndStoreOf head: AnswerHead) {
        append(escaped: head.id)
        append(#"","store":""#)
        append(escaped: head.store)
        append(#"","offset":"#)
    }

    private mutating func append(offsetOf head: AnswerHead) {
        append(decimal: Int(head.offset))
        guard let from = head.from else { return }
        append(AnswerHead.sourceBeginning)
        append(decimal: Int(from.partition))
        append("/")
        append(decimal: Int(from.offset))
        append("\"")
    }

    /// Appends the answer to a repeat: the first answer again, with `"duplicate":true` after its type, and the repeat's own offset
    /// and source. Any menu, language or version may have written it, but a ``JournalReader`` must accept it.
    public mutating func append(repeating first: UnsafeRawBufferPointer, for head: AnswerHead) {
        // The type is the first member of every answer, and no type has a comma in it.
        let type = first.firstIndex(of: UInt8(ascii: ",")) ?? first.endIndex
        append(UnsafeRawBufferPointer(rebasing: first[..<type]))
        append(AnswerHead.duplicateMember)
        let start = count
        append(idFieldOf: head.command)
        append(idAndStoreOf: head)
        // The same id and store take as many bytes in the first answer.
        var rest = first[type...].dropFirst(count - start).drop { $0.isDigit }
        append(offsetOf: head)
        if UnsafeRawBufferPointer(rebasing: rest).begins(with: BorrowedText(AnswerHead.sourceBeginning).bytes) {
            rest = rest.dropFirst(AnswerHead.sourceBeginning.utf8CodeUnitCount)
            rest = rest.drop { $0 != UInt8(ascii: "\"") }.dropFirst()
        }
        append(UnsafeRawBufferPointer(rebasing: rest))
    }
}

extension AnswerHead {
    static var duplicateMember: StaticString { #","duplicate":true"# }
    fileprivate static var sourceBeginning: StaticString { #","from":""# }
}

extension UnsafeRawBufferPointer {
    func begins(with bytes: UnsafeRawBufferPointer) -> Bool {
        count >= bytes.count && UnsafeRawBufferPointer(rebasing: self[..<bytes.count]).hasSameBytes(as: bytes)
    }
}

extension UInt8 { var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") } }

// MARK: - Fragments

/// A piece of JSON that is the same in every record: its place in a table of ``Fragments``.
struct Fragment {
    fileprivate let start: Int
    fileprivate let end: Int
}

/// All pieces that an encoder writes again and again, escaped once.
///
/// One array holds all of them, and a place identifies each: separate arrays would cost reference counting at every read.
struct Fragments: Sendable {
    /// Zeros follow the pieces, so that the last one can be read in words.
    private var bytes = [UInt8](repeating: 0, count: OutputBuffer.wordSize)

    mutating func add(_ json: JSONText) -> Fragment {
        let start = bytes.count - OutputBuffer.wordSize
        bytes.insert(contentsOf: json.bytes, at: start)
        return Fragment(start: start, end: start + json.bytes.count)
    }

    /// Adds the texts around a number or a list.
    fileprivate mutating func add(_ texts: TextPair) -> (before: Fragment, after: Fragment) {
        (add(#"\#(escaped: texts.before)"#), add(#"\#(escaped: texts.after)"#))
    }

    @inline(__always)
    func withBytes<Result>(of fragment: Fragment, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[fragment.start..<fragment.end])) }
    }
}

extension OutputBuffer {
    mutating func append(_ fragment: Fragment, of fragments: Fragments) {
        fragments.withBytes(of: fragment) { append(words: $0) }
    }
}

// The pieces of answers that depend only on the menu and the language, cut where each answer inserts a text or a number. Each is as
// long as possible: the cost of an answer is the number of its pieces.

private struct FruitFragments {
    let firstUsed: Fragment
    let firstReturned: Fragment
    /// After the fruits that were used or returned.
    let firstLeftAfterAmounts: Fragment
    let firstLeft: Fragment
    let next: Fragment
    let firstShort: Fragment
    let nextShort: Fragment
    /// Around the number, in the message to a restock or a cancel.
    let counted: (before: Fragment, after: Fragment)
    private let listed: (last: Fragment, beforeLast: Fragment, beforeOthers: Fragment)

    init(_ fruit: Fruit, _ messages: AnswerMessages, _ fragments: inout Fragments) {
        let id = fruit.id
        firstUsed = fragments.add(#","used":{\#(id):"#)
        firstReturned = fragments.add(#","returned":{\#(id):"#)
        firstLeftAfterAmounts = fragments.add(#"},"left":{\#(id):"#)
        firstLeft = fragments.add(#","left":{\#(id):"#)
        next = fragments.add(#",\#(id):"#)
        firstShort = fragments.add(#","fruit":\#(id),"missing":[{"fruit":\#(id),"needed":"#)
        nextShort = fragments.add(#"},{"fruit":\#(id),"needed":"#)
        counted = fragments.add(messages.counted(fruit.name))
        func name(followedBy following: Int) -> Fragment {
            fragments.add(#"\#(escaped: messages.listed(fruit.name, followedBy: following))"#)
        }
        listed = (name(followedBy: 0), name(followedBy: 1), name(followedBy: 2))
    }

    /// The fruit in the message that lists short fruits, by how many fruits follow it.
    func listed(followedBy following: Int) -> Fragment {
        switch following {
        case 0: listed.last
        case 1: listed.beforeLast
        default: listed.beforeOthers
        }
    }
}

private struct JuiceFragments {
    let id: Fragment
    let firstItem: Fragment
    let nextItem: Fragment
    /// The whole rest of the answer to an order of one juice.
    let madeOne: Fragment
    /// In a message: one juice, and the texts around the number of several.
    let one: Fragment
    let several: (before: Fragment, after: Fragment)

    init(_ juice: Juice, _ messages: AnswerMessages, _ fragments: inout Fragments) {
        let (made, name) = (messages.made, juice.name.text(in: messages.language))
        id = fragments.add(#","juice":\#(juice.id),"quantity":"#)
        firstItem = fragments.add(#","items":[{"juice":\#(juice.id),"quantity":"#)
        nextItem = fragments.add(#"},{"juice":\#(juice.id),"quantity":"#)
        madeOne = fragments.add(#","message":\#(made.before + name + made.after)}"#)
        one = fragments.add(#"\#(escaped: name)"#)
        several = fragments.add(messages.several(juice.name))
    }
}

private struct PhraseFragments {
    let made: (before: Fragment, after: Fragment)
    let outOfStock: (before: Fragment, after: Fragment)
    let restocked: Fragment
    /// Before a fruit's level.
    let now: Fragment
    let cancelled: (before: Fragment, after: Fragment)
    /// The whole rest of the answer to a cancel that returned nothing.
    let cancelledNothing: Fragment

    init(_ messages: AnswerMessages, _ fragments: inout Fragments) {
        /// The texts around a list in the message, which ends the answer.
        func message(_ texts: TextPair) -> (before: Fragment, after: Fragment) {
            (fragments.add(#","message":"\#(escaped: texts.before)"#), fragments.add(#"\#(escaped: texts.after)"}"#))
        }
        made = message(messages.made)
        outOfStock = (
            fragments.add(#"}],"message":"\#(escaped: messages.outOfStock.before)"#), message(messages.outOfStock).after
        )
        restocked = message((messages.restocked, "")).before
        now = fragments.add(#"\#(escaped: messages.now)"#)
        cancelled = message(messages.cancelled)
        cancelledNothing = fragments.add(#","returned":{},"left":{},"message":\#(messages.cancelledNothing)}"#)
    }
}
