import JuiceMaker

// Making compact answers. Each method goes with the one that writes the same answer, and takes no memory.
extension AnswerEncoder {
    /// What ``juiceMade(_:store:left:duplicate:into:)`` writes, or `nil` if it does not fit.
    public func compactJuiceMade(_ order: OrderCommand, left: FruitStore) -> CompactAnswer? {
        var numbers = CompactNumbers()
        numbers.append(order.juice)
        numbers.append(order.quantity)
        for place in juices[order.juice].ingredients { numbers.append(left[ingredients[place].fruit]) }
        return CompactAnswer(.juiceMade, numbers)
    }

    /// What ``outOfStock(_:store:shortages:duplicate:into:)`` writes, or `nil` if it does not fit.
    public func compactOutOfStock(_ order: OrderCommand, shortages: Shortages) -> CompactAnswer? {
        var shortages = shortages.makeIterator()
        var next = shortages.next()
        return compactOutOfStock(juice: order.juice, quantity: order.quantity) { ingredient in
            // The fruits that are short are some of the recipe's, in its order.
            guard let short = next, short.fruit == ingredient.fruit else { return nil }
            next = shortages.next()
            return short.inStock
        }
    }

    /// What ``restocked(_:store:left:duplicate:into:)`` writes, or `nil` if it does not fit.
    public func compactRestocked(_ restock: RestockCommand, left: FruitStore) -> CompactAnswer? {
        compactRestocked(left: RestockedLevels(restock.edit, left))
    }

    // Asks for each ingredient how many there were of its fruit, `nil` if that was enough.
    func compactOutOfStock(
        juice: Int,
        quantity: Int,
        inStock: (IngredientFragments) -> Int?
    ) -> CompactAnswer? {
        var numbers = CompactNumbers()
        numbers.append(juice)
        numbers.append(quantity)
        for place in juices[juice].ingredients {
            let inStock = inStock(ingredients[place])
            guard (inStock ?? 0) <= FruitStore.maximumLevel else { return nil }
            numbers.append(inStock.map { $0 + 1 } ?? 0)
        }
        return CompactAnswer(.outOfStock, numbers)
    }

    // The fruits are in the order of the menu, each once.
    func compactRestocked(left: some Sequence<(fruit: Int, level: Int)>) -> CompactAnswer? {
        var named = FruitSet()
        for (fruit, _) in left where !named.insert(fruit) { return nil }
        var numbers = CompactNumbers()
        numbers.append(named.bits)
        for (_, level) in left { numbers.append(level) }
        return CompactAnswer(.restocked, numbers)
    }
}

extension AnswerEncoder {
    /// Writes an answer that was made compact with the same menu: byte by byte what was written first, apart from
    /// `duplicate`.
    ///
    /// Returns `false`, and writes nothing, if the answer cannot be one of this menu, or needs a template.
    @discardableResult
    public func write(
        _ answer: CompactAnswer,
        id: BorrowedText,
        store: BorrowedText,
        duplicate: Bool,
        into buffer: inout OutputBuffer
    ) -> Bool {
        let head = AnswerHead(id: id, store: store, isDuplicate: duplicate)
        var numbers = answer.numbers
        switch answer.kind {
        case .restocked:
            let named = FruitSet(bits: numbers.next())
            guard named.isOfMenu(fruits: fruits.count) else { return false }
            restocked(head, left: CompactLevels(named, numbers), into: &buffer)
        case .juiceMade:
            guard let (juice, quantity) = order(&numbers) else { return false }
            juiceMade(head, juice: juice, quantity: quantity, into: &buffer) { _ in numbers.next() }
        case .outOfStock:
            guard let (juice, quantity) = order(&numbers) else { return false }
            let missing = CompactShortages(ingredients[juices[juice].ingredients], quantity, numbers)
            guard missing.first(where: { _ in true }) != nil else { return false }
            outOfStock(head, juice: juice, quantity: quantity, missing: missing, into: &buffer)
        case .templated, .templatedElsewhere:
            return false
        }
        return true
    }

    private func order(_ numbers: inout CompactNumbers.Reader) -> (juice: Int, quantity: Int)? {
        let (juice, quantity) = (numbers.next(), numbers.next())
        guard juices.indices.contains(juice), JuiceMaker.quantities.contains(quantity) else { return nil }
        return (juice, quantity)
    }
}

// What a compact answer says of fruits, in the form in which it is written.

/// The fruits a restock named, a bit for each.
private struct FruitSet {
    private(set) var bits = 0

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

    func isOfMenu(fruits: Int) -> Bool {
        bits > 0 && bits >> fruits == 0
    }
}

private struct CompactLevels: Sequence, IteratorProtocol {
    private var named: FruitSet
    private var numbers: CompactNumbers.Reader

    init(_ named: FruitSet, _ numbers: CompactNumbers.Reader) {
        self.named = named
        self.numbers = numbers
    }

    mutating func next() -> (fruit: Int, level: Int)? {
        guard let fruit = named.popFirst() else { return nil }
        return (fruit, numbers.next())
    }
}

private struct CompactShortages: Sequence, IteratorProtocol {
    private var recipe: ArraySlice<IngredientFragments>
    private let quantity: Int
    private var numbers: CompactNumbers.Reader

    init(_ recipe: ArraySlice<IngredientFragments>, _ quantity: Int, _ numbers: CompactNumbers.Reader) {
        self.recipe = recipe
        self.quantity = quantity
        self.numbers = numbers
    }

    struct Element: ShortFruit {
        let fruit: Int
        let needed: Int
        let inStock: Int
    }

    mutating func next() -> Element? {
        while let ingredient = recipe.popFirst() {
            let number = numbers.next()
            if number > 0 {
                return Element(
                    fruit: ingredient.fruit,
                    needed: ingredient.amount * quantity,
                    inStock: number - 1
                )
            }
        }
        return nil
    }
}
