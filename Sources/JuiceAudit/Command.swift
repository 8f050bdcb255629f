/// A command that must be answered in the partition where it is.
struct Command {
    /// Its index among the records of its topic and partition.
    let index: Int
    let store: Int
    let identity: Int
    let task: Task

    /// What the command asks of its store.
    enum Task {
        case make(juice: Int, quantity: Int)
        case add([Contract.Amount])
        case set([Contract.Amount])
        case reject(RejectionReason)
    }
}

/// Reads the values of commands, in the order in which the contract judges their faults.
struct CommandReader {
    enum Reading {
        /// A command and its id, which is valid until the reader reads again.
        case command(id: UnsafeBufferPointer<UInt8>, Command.Task)
        /// Not a command. Any of the codes is right: a document may be both too deep and not JSON.
        case undecodable([DeadLetterCode])
    }

    private var json = JSONReader()

    mutating func read(_ value: UnsafeBufferPointer<UInt8>?, _ kind: CommandKind) -> Reading {
        guard let value, !value.isEmpty else { return .undecodable([.emptyValue]) }
        guard value.count <= Contract.longestValue else { return .undecodable([.tooLarge]) }
        let isJSON = json.read(value)
        let isTooDeep = json.depth > Contract.deepestNesting
        guard isJSON else { return .undecodable(isTooDeep ? [.tooDeep, .notJSON] : [.notJSON]) }
        guard !isTooDeep else { return .undecodable([.tooDeep]) }
        guard json.tokens[0].kind == .object else { return .undecodable([.notJSON]) }

        switch json.member(kind.idField) {
        case .absent: return .undecodable([.missingID])
        case .repeated: return .undecodable([.badID])
        case .value(let value) where json.tokens[value].kind == .null: return .undecodable([.missingID])
        case .value(let value):
            guard let id = json.string(value), (1...Contract.longestName).contains(id.count) else {
                return .undecodable([.badID])
            }
            return .command(id: id, kind == .order ? order() : restock())
        }
    }

    /// A member of a command; `null` counts as absent.
    private enum Field {
        case absent, repeated
        case value(Int)
    }

    private func field(_ name: StaticString) -> Field {
        switch json.member(name) {
        case .absent: .absent
        case .repeated: .repeated
        case .value(let value): json.tokens[value].kind == .null ? .absent : .value(value)
        }
    }

    private func order() -> Command.Task {
        guard case .value(let value) = field("juice"), let name = json.string(value) else {
            return .reject(.badCommand)
        }
        guard let juice = Contract.juices.firstIndex(where: { isSame(name, $0.id) }) else {
            return .reject(.unknownJuice)
        }
        switch field("quantity") {
        case .absent: return .make(juice: juice, quantity: 1)
        case .repeated: return .reject(.badCommand)
        case .value(let value):
            guard let quantity = json.integer(value), Contract.quantities.contains(quantity) else {
                return .reject(.badQuantity)
            }
            return .make(juice: juice, quantity: quantity)
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
        _ edit: ([Contract.Amount]) -> Command.Task
    ) -> Command.Task {
        guard json.tokens[object].kind == .object else { return .reject(.badCommand) }
        var amounts: [Contract.Amount] = []
        var rejection: RejectionReason?
        json.forEachMember(of: object) { name, value in
            let name = json.text(name)
            if let fruit = Contract.fruits.firstIndex(where: { isSame(name, $0) }) {
                if amounts.contains(where: { $0.fruit == fruit }) {
                    rejection = .badCommand
                } else if let amount = json.integer(value) {
                    amounts.append(Contract.Amount(fruit: fruit, amount: amount))
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
