/// Reads the values of commands, in the order in which the contract judges their faults.
struct CommandReader {
    enum Reading {
        /// A command and its id, which is valid until the reader reads again.
        case command(id: UnsafeBufferPointer<UInt8>, CommandKind, Command.Task)
        /// Not a command. Any of the codes is right: a document may be both too deep and not JSON.
        case undecodable([DeadLetterCode])
    }

    private let menu: AuditMenu
    private var json = JSONReader()

    init(_ menu: AuditMenu) { self.menu = menu }

    mutating func read(_ value: UnsafeBufferPointer<UInt8>?, _ topic: AuditTopic) -> Reading {
        guard let value, !value.isEmpty else { return .undecodable([.emptyValue]) }
        guard value.count <= Contract.longestValue else { return .undecodable([.tooLarge]) }
        let isJSON = json.read(value)
        let isTooDeep = json.depth > Contract.deepestNesting
        guard isJSON else { return .undecodable(isTooDeep ? [.tooDeep, .notJSON] : [.notJSON]) }
        guard !isTooDeep else { return .undecodable([.tooDeep]) }
        guard json.tokens[0].kind == .object else { return .undecodable([.notJSON]) }

        switch json.member(topic.idField) {
        case .absent: return .undecodable([.missingID])
        case .repeated: return .undecodable([.badID])
        case .value(let value) where json.tokens[value].kind == .null: return .undecodable([.missingID])
        case .value(let value):
            guard let id = json.string(value), (1...Contract.longestName).contains(id.count) else {
                return .undecodable([.badID])
            }
            if topic == .restocks { return .command(id: id, .restock, restock()) }
            return isCancel ? .command(id: id, .cancel, .putBack([])) : .command(id: id, .order, order())
        }
    }

    /// A member of a command; `null` counts as absent.
    private enum Field {
        case absent, repeated
        case value(Int)
    }

    private func field(_ name: StaticString, of object: Int = 0) -> Field {
        switch json.member(name, of: object) {
        case .absent: .absent
        case .repeated: .repeated
        case .value(let value): json.tokens[value].kind == .null ? .absent : .value(value)
        }
    }

    private func restock() -> Command.Task {
        switch (field("add"), field("set")) {
        case (.repeated, _), (_, .repeated), (.value, .value): .reject(.badCommand)
        case (.absent, .absent): .reject(.emptyRestock)
        case (.value(let value), _): amounts(of: value, Command.Task.add)
        case (_, .value(let value)): amounts(of: value, Command.Task.set)
        }
    }

    private func amounts(
        of object: Int,
        _ edit: ([AuditMenu.Amount]) -> Command.Task
    ) -> Command.Task {
        guard json.tokens[object].kind == .object else { return .reject(.badCommand) }
        var amounts: [AuditMenu.Amount] = []
        var rejection: RejectionReason?
        json.forEachMember(of: object) { name, value in
            let name = json.text(name)
            if let fruit = menu.fruit(name) {
                if amounts.contains(where: { $0.fruit == fruit }) {
                    rejection = .badCommand
                } else if let amount = json.integer(value) {
                    amounts.append(AuditMenu.Amount(fruit: fruit, amount: amount))
                } else {
                    rejection = .badAmount
                }
            } else {
                rejection = .unknownFruit
            }
            return rejection == nil
        }
        if let rejection { return .reject(rejection) }
        if amounts.isEmpty { return .reject(.emptyRestock) }
        return edit(amounts.sorted { $0.fruit < $1.fruit })
    }
}

// MARK: - Orders

extension CommandReader {
    /// Why an order, or an item of its basket, is rejected.
    private struct Rejected: Error {
        let reason: RejectionReason
    }

    /// Whether the command takes its order back; then none of its other members matters.
    private var isCancel: Bool {
        guard case .value(let value) = field("cancel") else { return false }
        return json.tokens[value].kind == .yes
    }

    private func order() -> Command.Task {
        do throws(Rejected) {
            return .make(try readOrder())
        } catch {
            return .reject(error.reason)
        }
    }

    private func readOrder() throws(Rejected) -> Order {
        switch field("cancel") {
        case .absent: break
        case .value(let value) where json.tokens[value].kind == .no: break
        case .value, .repeated: throw Rejected(reason: .badCommand)
        }
        switch (field("juice"), field("items")) {
        case (.value, .absent): return Order(try item(0), menu)
        case (.absent, .value(let items)): return try basket(items)
        default: throw Rejected(reason: .badCommand)
        }
    }

    private func basket(_ array: Int) throws(Rejected) -> Order {
        guard case .absent = field("quantity"), json.tokens[array].kind == .array else {
            throw Rejected(reason: .badCommand)
        }
        let elements = json.elements(of: array)
        guard Contract.basketSizes.contains(elements.count) else { throw Rejected(reason: .badCommand) }
        var items: [Order.Item] = []
        for element in elements {
            guard json.tokens[element].kind == .object else { throw Rejected(reason: .badCommand) }
            items.append(try item(element))
        }
        return Order(basket: items, menu)
    }

    /// The juice and the quantity that an object names: a command, or an item of a basket.
    private func item(_ object: Int) throws(Rejected) -> Order.Item {
        guard case .value(let value) = field("juice", of: object), let name = json.string(value) else {
            throw Rejected(reason: .badCommand)
        }
        guard let juice = menu.juice(name) else {
            throw Rejected(reason: .unknownJuice)
        }
        switch field("quantity", of: object) {
        case .absent: return Order.Item(juice: juice, quantity: 1)
        case .repeated: throw Rejected(reason: .badCommand)
        case .value(let value):
            guard let quantity = json.integer(value), Contract.quantities.contains(quantity) else {
                throw Rejected(reason: .badQuantity)
            }
            return Order.Item(juice: juice, quantity: quantity)
        }
    }
}
