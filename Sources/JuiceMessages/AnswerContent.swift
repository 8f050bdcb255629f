import JuiceDomain

/// What an answer says about its command. The rest is its ``AnswerContent``, or its ``Rejection``.
public struct AnswerHead {
    /// The command's id.
    public let id: BorrowedText
    /// The command's store.
    public let store: BorrowedText
    /// What kind of command it is.
    public let command: CommandKind
    /// The command's offset in its topic, in the partition with the answer's own number.
    public let offset: Int64
    /// Where the command was read first, if it was forwarded.
    public var from: RecordPosition?
    /// Whether the command was a repeat, and this is its first answer given again. Set only in answers that are read.
    public internal(set) var isDuplicate = false

    /// The head of a first answer.
    public init(_ command: CommandKind, id: BorrowedText, store: BorrowedText, offset: Int64, from: RecordPosition? = nil) {
        (self.command, self.id, self.store, self.offset, self.from) = (command, id, store, offset, from)
    }
}

/// What an answer says, in numbers: everything but the command's id and store, and the language. Juices and fruits are indices of
/// the menu.
///
/// Keep it and set it again for each command: then it allocates only until it has room for the longest recipe.
public struct AnswerContent: Sendable {
    /// The outcome of the command; never `rejected` or `answerLost`, which carry text.
    public var type = AnswerType.restocked
    /// The order that was answered; meaningless for a restock or a cancel.
    public var order = JuiceOrder.basket([])
    /// The fruits of the command, in the order in which the answer names them. An out-of-stock answer names those that are short.
    public var fruits = FruitTally()
    /// The store's revision after a command that changed it; 0 if it did not.
    public var revision = 0

    /// Content that is still to be set.
    public init() {}

    /// Carries a command out, and becomes its answer. Does not set the revision.
    ///
    /// For a cancel, ``fruits`` must be what it puts back: see `setFruits(to:of:)`.
    ///
    /// - Returns: whether the store changed.
    /// - Throws: why the command is rejected. The store is as it was.
    public mutating func carryOut(
        _ command: CommandContent, by maker: JuiceMaker, on store: inout FruitStore
    ) throws(Rejection) -> Bool {
        switch command {
        case .make(let order):
            let outcome = maker.make(order, from: &store, &fruits)
            self.order = order
            type = outcome == .made ? .juiceMade : .outOfStock
            return outcome == .made
        case .apply(let edit):
            type = .restocked
            do throws(StockEditError) { try store.apply(edit) } catch { throw .outOfRange(error) }
            fruits.set(edit, left: store)
            return true
        case .cancel:
            type = .cancelled
            guard fruits.count > 0 else { return false }
            do throws(StockEditError) { try store.putBack(&fruits) } catch { throw .outOfRange(error) }
            return true
        case .reject(let rejection): throw rejection
        }
    }

    /// Sets the fruits to those that an order took and that are still on the menu.
    package mutating func setFruits(to used: [FruitAmount], of menu: Menu) {
        fruits.removeAll()
        for used in used {
            guard let fruit = menu.fruitIndex(id: used.fruit) else { continue }
            fruits.add(FruitTally.Line(fruit: fruit, amount: used.amount, level: 0))
        }
    }
}
