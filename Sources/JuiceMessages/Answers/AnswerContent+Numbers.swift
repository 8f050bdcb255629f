import JuiceMaker

/// Takes the numbers of an answer's content.
public protocol NumberSink {
    /// Appends a number from 0 up.
    mutating func append(_ number: Int)
}

/// Gives the numbers of an answer's content.
public protocol NumberSource {
    /// The next number; 0 after the last.
    mutating func next() -> Int
}

// The numbers that determine a content under one menu, the revision last:
//
// - an order of one juice: the juice plus 1, the quantity, the level of each fruit;
// - a basket: 0, the number of items, a juice and a quantity for each, the level of each fruit;
// - a restock: a bit for each fruit that it named, the level of each;
// - a cancel: the number of fruits, and for each the fruit, the amount and the level.
//
// In an out-of-stock answer the level of a short fruit is increased by 1, and 0 stands for enough.
extension AnswerContent {
    /// Appends the numbers from which ``unpack(_:from:by:)`` restores the content.
    ///
    /// - Returns: false for a restock of a fruit beyond the 62nd: there is no bit for it.
    public func pack(into numbers: inout some NumberSink) -> Bool {
        switch kind {
        case .juiceMade, .outOfStock:
            pack(order, into: &numbers)
        case .restocked:
            var named = FruitSet()
            for place in 0..<fruits.count where !named.insert(fruits[place].fruit) { return false }
            numbers.append(named.bits)
        case .cancelled:
            numbers.append(fruits.count)
        }
        for place in 0..<fruits.count {
            let line = fruits[place]
            if kind == .cancelled {
                numbers.append(line.fruit)
                numbers.append(line.amount)
            }
            numbers.append(kind == .outOfStock ? line.isShort ? line.level + 1 : 0 : line.level)
        }
        numbers.append(revision)
        return true
    }

    private func pack(_ order: JuiceOrder, into numbers: inout some NumberSink) {
        switch order {
        case .single(let item):
            numbers.append(item.juice + 1)
            numbers.append(item.quantity)
        case .basket(let items):
            numbers.append(0)
            numbers.append(items.count)
            for item in items {
                numbers.append(item.juice)
                numbers.append(item.quantity)
            }
        }
    }

    /// Becomes the content that was packed under the same menu.
    ///
    /// - Parameters:
    ///   - kind: the content's kind.
    ///   - numbers: what was packed.
    ///   - maker: a maker by the menu.
    /// - Returns: false if it cannot be the content of an answer by this menu. It means nothing then.
    public mutating func unpack(
        _ kind: Kind,
        from numbers: inout some NumberSource,
        by maker: JuiceMaker
    ) -> Bool {
        self.kind = kind
        fruits.removeAll()
        switch kind {
        case .juiceMade, .outOfStock:
            guard let order = Self.order(from: &numbers, maker.menu) else { return false }
            self.order = order
            maker.count(order, &fruits)
            for place in 0..<fruits.count {
                let number = numbers.next()
                let level = number > 0 ? number - 1 : fruits[place].amount
                fruits[place].level = kind == .outOfStock ? level : number
            }
            guard kind == .juiceMade || (0..<fruits.count).contains(where: { fruits[$0].isShort }) else {
                return false
            }
        case .restocked:
            var named = FruitSet(bits: numbers.next())
            guard named.isOfMenu(fruits: maker.menu.fruits.count) else { return false }
            while let fruit = named.popFirst() {
                fruits.append(FruitTally.Line(fruit: fruit, amount: 0, level: numbers.next()))
            }
        case .cancelled:
            let count = numbers.next()
            guard count <= maker.menu.fruits.count else { return false }
            for _ in 0..<count {
                let (fruit, amount, level) = (numbers.next(), numbers.next(), numbers.next())
                guard maker.menu.fruits.indices.contains(fruit) else { return false }
                fruits.append(FruitTally.Line(fruit: fruit, amount: amount, level: level))
            }
        }
        revision = numbers.next()
        return true
    }

    /// Becomes the content of an answer that was packed under the same menu.
    ///
    /// - Returns: false if it needs a template, if its numbers are kept elsewhere, or if it is not of this menu.
    public mutating func unpack(_ answer: CompactAnswer, by maker: JuiceMaker) -> Bool {
        guard let kind = answer.contentKind, answer.numbersPlace == nil else { return false }
        var numbers = answer.numbers
        return unpack(kind, from: &numbers, by: maker)
    }

    private static func order(from numbers: inout some NumberSource, _ menu: Menu) -> JuiceOrder? {
        let juice = numbers.next()
        if juice > 0 {
            let item = OrderItem(juice: juice - 1, quantity: numbers.next())
            return isItem(item, of: menu, JuiceOrder.quantities) ? .single(item) : nil
        }
        let count = numbers.next()
        guard (1...JuiceOrder.mostItems).contains(count) else { return nil }
        let items = (0..<count).map { _ in OrderItem(juice: numbers.next(), quantity: numbers.next()) }
        return items.allSatisfy { isItem($0, of: menu, JuiceOrder.basketQuantities) } ? .basket(items) : nil
    }

    private static func isItem(_ item: OrderItem, of menu: Menu, _ quantities: ClosedRange<Int>) -> Bool {
        menu.juices.indices.contains(item.juice) && quantities.contains(item.quantity)
    }
}

/// The fruits that a restock named, a bit for each.
struct FruitSet {
    private(set) var bits: Int

    init(bits: Int = 0) {
        self.bits = bits
    }

    /// Adds a fruit that comes after all the others; `false` if it does not, or if there is no bit for it.
    mutating func insert(_ fruit: Int) -> Bool {
        guard (0..<Int.bitWidth - 1).contains(fruit), bits >> fruit == 0 else { return false }
        bits |= 1 << fruit
        return true
    }

    mutating func popFirst() -> Int? {
        guard bits != 0 else { return nil }
        defer { bits &= bits - 1 }
        return bits.trailingZeroBitCount
    }

    /// Whether a menu of so many fruits has all of them, and there is one.
    func isOfMenu(fruits: Int) -> Bool {
        bits > 0 && bits >> fruits == 0
    }
}
