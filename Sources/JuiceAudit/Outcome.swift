/// What a store holds, and how often it was changed.
struct StoreState {
    /// How much there is of each fruit; -1 while no record has said it.
    var levels: [Int]
    /// Nil while no record has said it.
    var revision: Int?
}

/// What a command must result in.
struct Outcome {
    enum Kind: String { case juiceMade, outOfStock, restocked, cancelled, rejected }

    private(set) var kind = Kind.rejected
    private(set) var reason: RejectionReason?
    /// The state of the store after it.
    private(set) var after: StoreState
    private(set) var isChange = false
    /// What a cancel of the command puts back, or has put back.
    private(set) var taken: [AuditMenu.Amount] = []
    /// What its answer says after the members of all answers and before the message.
    private(set) var text: [UInt8] = []
    private let menu: AuditMenu

    /// Carries a command out.
    init(of task: Command.Task, _ command: Command, on before: StoreState, _ menu: AuditMenu) {
        (self.menu, after) = (menu, before)
        text.reserveCapacity(256)
        switch task {
        case .reject(let reason): reject(reason, command)
        case .make(let order):
            text += order.text
            let short = order.needs.filter { before.levels[$0.fruit] < $0.amount }
            if short.isEmpty { make(order) } else { lack(short) }
        case .add(let amounts):
            kind = .restocked
            add(amounts, to: before.levels, command)
        case .set(let amounts):
            kind = .restocked
            add(amounts, to: before.levels.map { _ in 0 }, command)
        case .putBack(let amounts):
            (kind, taken) = (.cancelled, amounts)
            text.add(",\"returned\":")
            text.add(amounts, menu)
            add(amounts, to: before.levels, command)
        }
    }

    /// What an answer says that was lost, by what became of its command; of the order, if its cancel was rejected.
    func was(of command: CommandKind) -> String {
        switch kind {
        case .juiceMade: "made"
        case .restocked, .cancelled: kind.rawValue
        case .outOfStock, .rejected: command == .cancel ? "made" : "notMade"
        }
    }

    private mutating func reject(_ reason: RejectionReason, _ command: Command) {
        (kind, self.reason, taken, text) = (.rejected, reason, [], [])
        text.add(command.kind == .cancel ? ",\"cancel\":true,\"reason\":" : ",\"reason\":")
        text.add(quoted: reason.rawValue.utf8)
    }

    private mutating func make(_ order: Order) {
        (kind, taken) = (.juiceMade, order.needs)
        for part in order.needs { after.levels[part.fruit] -= part.amount }
        text.add(",\"used\":")
        text.add(order.needs, menu)
        change(order.needs)
    }

    private mutating func lack(_ short: [AuditMenu.Amount]) {
        kind = .outOfStock
        text.add(",\"fruit\":")
        text.add(quoted: menu.fruits[short[0].fruit].id)
        text.add(",\"missing\":[")
        text.add(short) { [menu, after] text, part in
            text.add("{\"fruit\":")
            text.add(quoted: menu.fruits[part.fruit].id)
            text.add(",\"needed\":")
            text.add(part.amount)
            text.add(",\"inStock\":")
            text.add(after.levels[part.fruit])
            text.add("}")
        }
        text.add("]")
    }

    /// Adds amounts, all or nothing.
    private mutating func add(_ amounts: [AuditMenu.Amount], to levels: [Int], _ command: Command) {
        let before = after
        for amount in amounts {
            let (level, overflows) = levels[amount.fruit].addingReportingOverflow(amount.amount)
            // No level is below zero, so the sum can only overflow upwards.
            let isAbove = overflows || level > Contract.levels.upperBound
            guard !isAbove, level >= 0 else {
                after = before
                return reject(isAbove ? .wouldOverflow : .wouldGoNegative, command)
            }
            after.levels[amount.fruit] = level
        }
        change(amounts)
    }

    private mutating func change(_ amounts: [AuditMenu.Amount]) {
        text.add(",\"left\":")
        text.add(amounts, menu) { [after] in after.levels[$0.fruit] }
        // A cancel may have nothing to put back.
        isChange = !amounts.isEmpty
        guard isChange, let revision = after.revision else { return }
        after.revision = revision &+ 1
        text.add(",\"revision\":")
        text.add(revision &+ 1)
    }

    /// What an answer says that its command resulted in.
    init(saidBy answer: JSONReader, on before: StoreState, _ menu: AuditMenu) {
        (self.menu, after, isChange) = (menu, answer.claimed(from: before, menu), true)
        kind = answer.string("type").flatMap(Kind.init) ?? .rejected
        reason = answer.string("reason").flatMap(RejectionReason.init)
        taken = answer.amounts("used", menu) + answer.amounts("returned", menu)
    }
}

extension StoreState {
    /// Whether all is known that a task's outcome depends on. The answers that said it may have expired.
    func decides(_ task: Command.Task) -> Bool {
        switch task {
        case .make(let order): order.needs.allSatisfy { levels[$0.fruit] >= 0 }
        case .add(let parts), .putBack(let parts): parts.allSatisfy { levels[$0.fruit] >= 0 }
        case .set, .reject: true
        }
    }
}

/// The members that every answer begins with, in their order.
struct Answer {
    let type: Int
    let isDuplicate: Bool
    let kind: CommandKind
    let id: Int
    let store: Int
    let offset: Int64
    /// Where its command was forwarded from.
    let from: Int?
    /// The next member.
    private let rest: Int

    /// Nil if the object does not begin with them.
    init?(_ json: JSONReader) {
        var index = 1
        func member(_ name: StaticString, _ kind: JSONReader.Kind) -> Int? {
            guard index < json.tokens.count, json.isName(index, name), json.tokens[index + 1].kind == kind else { return nil }
            index += 2
            return index - 1
        }
        guard let type = member("type", .string) else { return nil }
        isDuplicate = member("duplicate", .yes) != nil
        let order = member("orderId", .string)
        guard let id = order ?? member("restockId", .string), let store = member("store", .string),
            let offset = member("offset", .integer), 0..<Int.max ~= json.tokens[offset].integer
        else { return nil }
        (self.type, self.id, self.store, self.offset) = (type, id, store, Int64(json.tokens[offset].integer))
        from = member("from", .string)
        rest = index
        let isOfCancel = json.isType("cancelled") || member("cancel", .yes) != nil
        kind = order == nil ? .restock : isOfCancel ? .cancel : .order
    }

    /// What the answer says between these members and the message, as written; nil if it does not end with a message.
    func text(_ json: JSONReader) -> UnsafeBufferPointer<UInt8>? {
        var (member, before) = (rest, rest - 1)
        while member < json.tokens.count, json.tokens[member + 1].next < json.tokens.count {
            (member, before) = (json.tokens[member + 1].next, member + 1)
        }
        guard member < json.tokens.count, json.isName(member, "message"), json.string(member + 1)?.isEmpty == false else {
            return nil
        }
        return json.written(after: rest - 1, through: before)
    }

    /// Adds the bytes of which the digest of its command is made.
    func addHashed(_ json: JSONReader, to bytes: inout [UInt8]) {
        let letter: Unicode.Scalar = kind == .order ? "o" : kind == .cancel ? "c" : "r"
        bytes += [UInt8(ascii: letter), UInt8(truncatingIfNeeded: json.text(store).count)]
        bytes += json.text(store)
        bytes += json.text(id)
    }

    /// Stands for what a repeat of the answer must say, too: its type, and all that follows.
    func contents(_ json: JSONReader) -> UInt64 {
        var digest = Digest()
        digest.add(json.text(type))
        digest.add(json.written(after: rest - 1, through: 0))
        return digest.value
    }
}

extension JSONReader {
    /// The fruits of a member and their amounts, as far as there can be such.
    func amounts(_ name: StaticString, _ menu: AuditMenu) -> [AuditMenu.Amount] {
        guard let object = value(name), tokens[object].kind == .object else { return [] }
        var amounts: [AuditMenu.Amount] = []
        forEachMember(of: object) { name, value in
            if let fruit = menu.fruit(text(name)), let amount = integer(value), Contract.levels.contains(amount) {
                amounts.append(AuditMenu.Amount(fruit: fruit, amount: amount))
            }
            return true
        }
        return amounts
    }

    /// The state in which the answer claims to have left a store.
    func claimed(from before: StoreState, _ menu: AuditMenu) -> StoreState {
        let left = amounts("left", menu)
        guard value("duplicate") == nil else { return before }
        var claimed = before
        claimed.revision = integer("revision") ?? before.revision.map { left.isEmpty ? $0 : $0 &+ 1 }
        for part in left { claimed.levels[part.fruit] = part.amount }
        return claimed
    }
}
