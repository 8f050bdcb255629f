/// A command that must be answered in the partition where it is.
struct Command {
    let kind: CommandKind
    let store: Int
    let identity: UInt64
    /// The identity under which its answer is remembered: its own, or for a cancel that of its order.
    let remembered: UInt64
    var task: Task

    /// What the command asks of its store.
    enum Task {
        case make(Order)
        case add([AuditMenu.Amount])
        case set([AuditMenu.Amount])
        /// Puts back what an order took. A cancel does not say what that was.
        case putBack([AuditMenu.Amount])
        case reject(RejectionReason)
    }
}

/// What an order asks for: one juice, or a basket.
struct Order {
    /// A juice and how many of it.
    struct Item {
        let juice: Int
        var quantity: Int
    }

    /// The sum of all recipes, in the order in which they first name each fruit.
    private(set) var needs: [AuditMenu.Amount] = []
    /// What an answer says was ordered.
    private(set) var text: [UInt8] = []

    init(_ lines: [Item], isBasket: Bool, _ menu: AuditMenu) {
        // Each juice once, in the order in which the command first names it.
        var items: [Item] = []
        for line in lines {
            if let place = items.firstIndex(where: { $0.juice == line.juice }) {
                items[place].quantity += line.quantity
            } else {
                items.append(line)
            }
            // A juice that is given again is summed at its first place, whose fruits are named already.
            for part in menu.juices[line.juice].recipe {
                let amount = part.amount * line.quantity
                if let place = needs.firstIndex(where: { $0.fruit == part.fruit }) {
                    needs[place].amount += amount
                } else {
                    needs.append(AuditMenu.Amount(fruit: part.fruit, amount: amount))
                }
            }
        }
        text.add(isBasket ? ",\"items\":[" : ",")
        text.add(items) { text, item in
            text.add(isBasket ? "{\"juice\":" : "\"juice\":")
            text.add(quoted: menu.juices[item.juice].id)
            text.add(",\"quantity\":")
            text.add(item.quantity)
            text.add(isBasket ? "}" : "")
        }
        if isBasket { text.add("]") }
    }
}

/// What the service has to do with a record of an input.
enum Verdict {
    case answer(Command)
    /// It is a command for a store of another partition.
    case forward(to: Int)
    /// It is put aside. Any of the codes is right: a document may be too deep, and not JSON besides.
    case putAside([DeadLetterCode])
}

/// Reads commands, in the order in which the contract judges their faults.
struct CommandReader {
    enum Reading {
        /// A command and its id, which is valid until the reader reads again.
        case command(id: UnsafeBufferPointer<UInt8>, CommandKind, Command.Task)
        /// Not a command.
        case undecodable([DeadLetterCode])
    }

    private let menu: AuditMenu
    private var json = JSONReader()
    /// The orders of one juice that were read, by juice and quantity.
    private var singles: [Int: Order] = [:]

    init(_ menu: AuditMenu) { self.menu = menu }

    /// What the service has to do with a record of this partition.
    mutating func verdict(on record: AuditRecord, _ topic: AuditTopic, _ partition: Int, _ names: inout Names) -> Verdict {
        guard let store = names.store(key: record.key) else { return .putAside([.badStore]) }
        return (record.value ?? []).withUnsafeBufferPointer { value in
            switch read(value, topic) {
            case .undecodable(let codes): return .putAside(codes)
            case .command where names.owners[store] != partition:
                return record.isForwarded ? .putAside([.misplaced, .unanswerable]) : .forward(to: names.owners[store])
            case .command(let id, let kind, let task):
                let identity = names.identity(kind, store: store, id: id)
                let order = kind == .cancel ? names.identity(.order, store: store, id: id) : identity
                return .answer(Command(kind: kind, store: store, identity: identity, remembered: order, task: task))
            }
        }
    }

    /// A command as faults show it.
    mutating func describe(_ record: AuditRecord, _ topic: AuditTopic, store: [UInt8]) -> String {
        (record.value ?? []).withUnsafeBufferPointer { value in
            guard case .command(let id, let kind, _) = read(value, topic) else { return topic.rawValue }
            return "\(kind) \(quoted(id)) of store \(quoted(store))"
        }
    }

    mutating func read(_ value: UnsafeBufferPointer<UInt8>, _ topic: AuditTopic) -> Reading {
        guard !value.isEmpty else { return .undecodable([.emptyValue]) }
        guard value.count <= Contract.longestValue else { return .undecodable([.tooLarge]) }
        guard json.readObject(value) else { return .undecodable(json.isTooDeep ? [.tooDeep, .notJSON] : [.notJSON]) }
        guard let value = json.value(topic.idField) else { return .undecodable([.missingID]) }
        guard !json.isRepeated(topic.idField) else { return .undecodable([.badID]) }
        guard json.tokens[value].kind != .null else { return .undecodable([.missingID]) }
        guard let id = json.string(value), (1...Contract.longestName).contains(id.count) else { return .undecodable([.badID]) }
        do throws(RejectionReason) {
            if topic == .restocks { return .command(id: id, .restock, try restock()) }
            // None of a cancel's other members matters.
            let cancel = try field("cancel").map { json.tokens[$0].kind }
            if cancel == .yes { return .command(id: id, .cancel, .putBack([])) }
            guard cancel == nil || cancel == .no else { throw .badCommand }
            return .command(id: id, .order, .make(try order()))
        } catch { return .command(id: id, topic == .restocks ? .restock : .order, .reject(error)) }
    }

    /// A member of a command; nil if there is none. `null` counts as absent.
    private func field(_ name: StaticString, of object: Int = 0) throws(RejectionReason) -> Int? {
        if json.isRepeated(name, of: object) { throw .badCommand }
        return json.value(name, of: object).flatMap { json.tokens[$0].kind == .null ? nil : $0 }
    }

    private func restock() throws(RejectionReason) -> Command.Task {
        let (add, set) = (try field("add"), try field("set"))
        guard add == nil || set == nil else { throw .badCommand }
        guard let object = add ?? set else { throw .emptyRestock }
        guard json.tokens[object].kind == .object else { throw .badCommand }
        var amounts: [AuditMenu.Amount] = []
        var rejection: RejectionReason?
        json.forEachMember(of: object) { name, value in
            let fruit = menu.fruit(json.text(name))
            if fruit == nil { rejection = .unknownFruit }
            guard let fruit else { return false }
            if amounts.contains(where: { $0.fruit == fruit }) {
                rejection = .badCommand
            } else if let amount = json.integer(value) {
                amounts.append(AuditMenu.Amount(fruit: fruit, amount: amount))
            } else {
                rejection = .badAmount
            }
            return rejection == nil
        }
        if let reason = rejection ?? (amounts.isEmpty ? .emptyRestock : nil) { throw reason }
        amounts.sort { $0.fruit < $1.fruit }
        return add == nil ? .set(amounts) : .add(amounts)
    }

    private mutating func order() throws(RejectionReason) -> Order {
        let (juice, items) = (try field("juice"), try field("items"))
        guard (juice == nil) != (items == nil) else { throw .badCommand }
        guard let items else {
            let item = try item(0)
            let number = item.juice * (Contract.quantities.upperBound + 1) + item.quantity
            let order = singles[number] ?? Order([item], isBasket: false, menu)
            singles[number] = order
            return order
        }
        guard try field("quantity") == nil, json.tokens[items].kind == .array else { throw .badCommand }
        let elements = json.elements(of: items)
        guard Contract.basketSizes.contains(elements.count) else { throw .badCommand }
        var lines: [Order.Item] = []
        for element in elements {
            guard json.tokens[element].kind == .object else { throw .badCommand }
            lines.append(try item(element))
        }
        return Order(lines, isBasket: true, menu)
    }

    /// The juice and the quantity that an object names: a command, or an item of a basket.
    private func item(_ object: Int) throws(RejectionReason) -> Order.Item {
        guard let value = try field("juice", of: object), let name = json.string(value) else { throw .badCommand }
        guard let juice = menu.juice(name) else { throw .unknownJuice }
        guard let value = try field("quantity", of: object) else { return Order.Item(juice: juice, quantity: 1) }
        guard let quantity = json.integer(value), Contract.quantities.contains(quantity) else { throw .badQuantity }
        return Order.Item(juice: juice, quantity: quantity)
    }
}
